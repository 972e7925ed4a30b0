"""Errors of a running app: user code, serdes, limits, workers, other drivers."""

from __future__ import annotations

from typing import ClassVar

from kstreams.errors.base import KStreamsError, Where
from kstreams.quoting import kind_of, one_line, safe_text, text_of
from kstreams.user_code import user_traceback_of

__all__ = (
    "AppLockedError",
    "DeserializationError",
    "EventTimeError",
    "ExecutionError",
    "FencedError",
    "IntakeError",
    "IntakeUnavailableError",
    "JavaNotFoundError",
    "LimitError",
    "LoopError",
    "OutsideBatchError",
    "ProcessingError",
    "RegistryUnavailableError",
    "ReplayError",
    "SerdeError",
    "SerializationError",
    "SinkError",
    "SinkUnavailableError",
    "SourceError",
    "SourceUnavailableError",
    "WorkerDiedError",
)


_MAX_CHARS = 10_000
_MAX_NAME = 300


class SerdeError(KStreamsError, ValueError):
    """A key or value cannot be converted to or from bytes."""


class SerializationError(SerdeError):
    """An object is not of the type that its serde serializes."""


class DeserializationError(SerdeError):
    """Bytes are not in the format that their serde reads."""


class ExecutionError(KStreamsError, RuntimeError):
    """A running topology failed."""


class ProcessingError(ExecutionError):
    """The user's code raised an exception.

    Attributes:
        cause_type: The class of the exception, with its module.
        cause_traceback: The traceback, without the library's frames above and below the frames of
            the user's code.
    """

    def __init__(
        self,
        message: str,
        *,
        cause_type: str = "",
        cause_traceback: str = "",
        hint: str = "",
        where: Where | None = None,
    ) -> None:
        super().__init__(message, hint=hint, where=where)
        self.cause_type = cause_type
        self.cause_traceback = cause_traceback

    @classmethod
    def of(cls, exc: BaseException, *, hint: str = "") -> ProcessingError:
        """Return the error for an exception of user code; its texts have a bounded length."""
        error = cls(
            f"{kind_of(exc)} in a processor: {safe_text(text_of(exc), _MAX_CHARS)}",
            cause_type=one_line(f"{type(exc).__module__}.{type(exc).__qualname__}", _MAX_NAME),
            cause_traceback=user_traceback_of(exc),
            hint=hint,
        )
        error.__cause__ = exc
        return error


class LimitError(ProcessingError):
    """A limit of the app is reached.

    No single record causes it, so `on_error` does not apply. The hint names the setting that raises
    the limit.
    """


class RegistryUnavailableError(ExecutionError):
    """A schema registry does not answer, or rejects this client.

    No single record causes it, so `on_error` does not apply: the batch fails and is retried.
    """


class ReplayError(ExecutionError):
    """A committed batch cannot be replayed.

    The data of the batch was deleted, or the replay would call an external system.
    """


class SinkError(ExecutionError):
    """A sink's destination is unsuitable: for example, a table or a permission is missing.

    No single record causes it, so no policy for failed records applies.

    Attributes:
        code: The destination's error code, such as an SQLSTATE; empty if there is none.
    """

    def __init__(
        self, message: str, code: str = "", *, hint: str = "", where: Where | None = None
    ) -> None:
        super().__init__(message, hint=hint, where=where)
        self.code = code


class SinkUnavailableError(SinkError):
    """A sink's destination does not answer; the batch fails and can be retried."""


class IntakeError(ExecutionError):
    """An intake's source is unsuitable: for example, a queue or a permission is missing."""


class IntakeUnavailableError(IntakeError):
    """A message source does not answer. Unsettled messages are delivered again."""


class SourceError(ExecutionError):
    """The data source is unsuitable: for example, a folder or a permission is missing.

    No single record causes it, so no policy for failed records applies.
    """


class SourceUnavailableError(SourceError):
    """The data source does not answer; the batch fails and can be retried."""


class LoopError(ProcessingError):
    """A record or its results have passed a loop the maximum number of times."""


class EventTimeError(ProcessingError):
    """A record has no event time, or its time is out of range or too far in the future."""


class OutsideBatchError(ExecutionError):
    """A processor's context or store was used when no batch of its task was running.

    The call did not forward or change anything, because the change would not belong to a batch.
    """

    def __init__(self, message: str, *, hint: str = "", where: Where | None = None) -> None:
        super().__init__(message, hint=hint or self._HINT, where=where)

    _HINT: ClassVar[str] = (
        "use contexts and stores only within init, process and punctuators, and in the thread "
        "that calls them: keep no references, and wait for parallel work within process."
    )


class WorkerDiedError(ExecutionError):
    """The worker process died in each attempt of a batch.

    Args:
        message: The dead worker and the running batch.
        deaths: The number of deaths, over all Spark attempts of the task and repeats of the batch.
        under_way: The input of the batch: topic, partition, first offset, offset after the last.
        hint: The next step.
        where: The group and other known parts of the location.
    """

    def __init__(
        self,
        message: str,
        *,
        deaths: int = 0,
        under_way: tuple[tuple[str, int, int, int], ...] = (),
        hint: str = "",
        where: Where | None = None,
    ) -> None:
        super().__init__(message, hint=hint, where=where)
        self.deaths = deaths
        self.under_way = under_way


class AppLockedError(ExecutionError):
    """Another process runs an app on this checkpoint. `owner` identifies the process."""

    def __init__(self, message: str, *, owner: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.owner = owner


class FencedError(ExecutionError):
    """A newer driver has taken over this app; this driver stopped without changing anything."""


class JavaNotFoundError(ExecutionError):
    """Spark needs Java, and none was found. Install Java, or set JAVA_HOME.

    Attributes:
        looked_at: The rejected candidates in the order of the search, each with the reason.
    """

    def __init__(self, message: str, *, looked_at: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.looked_at = looked_at
