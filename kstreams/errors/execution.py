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
    """A key or value does not convert to or from bytes."""


class SerializationError(SerdeError):
    """An object is not what its serde writes."""


class DeserializationError(SerdeError):
    """Bytes are not what their serde reads."""


class ExecutionError(KStreamsError, RuntimeError):
    """A running topology failed."""


class ProcessingError(ExecutionError):
    """The user's code raised an exception.

    Attributes:
        cause_type: The class of the exception, with its module.
        cause_traceback: The traceback, without frames of the library above and below those of
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
        """Return the error for an exception of user code, with a bounded length."""
        error = cls(
            f"{kind_of(exc)} in a processor: {safe_text(text_of(exc), _MAX_CHARS)}",
            cause_type=one_line(f"{type(exc).__module__}.{type(exc).__qualname__}", _MAX_NAME),
            cause_traceback=user_traceback_of(exc),
            hint=hint,
        )
        error.__cause__ = exc
        return error


class LimitError(ProcessingError):
    """A bound of the app is reached: no record's fault, so that no policy skips a record for it.

    The hint says how to raise the bound.
    """


class RegistryUnavailableError(ExecutionError):
    """A registry of schemas does not answer, or refuses this client.

    No record's fault: no policy skips a record for it, the batch fails and runs again.
    """


class ReplayError(ExecutionError):
    """A committed batch cannot be replayed.

    Its data is gone, or the replay would call an external system.
    """


class SinkError(ExecutionError):
    """A place that a sink writes to is not as the sink needs it: a table is missing, a right.

    No record's fault: no policy skips a record for it.

    Attributes:
        code: The place's name for the reason, such as an SQLSTATE; empty if there is none.
    """

    def __init__(
        self, message: str, code: str = "", *, hint: str = "", where: Where | None = None
    ) -> None:
        super().__init__(message, hint=hint, where=where)
        self.code = code


class SinkUnavailableError(SinkError):
    """A place that a sink writes to does not answer; the batch fails, and may run again."""


class IntakeError(ExecutionError):
    """A source of messages is not as its intake needs it: a queue is missing, a right."""


class IntakeUnavailableError(IntakeError):
    """A message source does not answer. Unsettled messages are delivered again."""


class SourceError(ExecutionError):
    """A place that a source reads is not as it has to be: a folder is missing, a right.

    No record's fault: no policy skips a record for it.
    """


class SourceUnavailableError(SourceError):
    """A place that a source reads does not answer; the batch fails, and may run again."""


class LoopError(ProcessingError):
    """A record or its results have passed a loop the maximum number of times."""


class EventTimeError(ProcessingError):
    """A record has no time, or one that lies outside of all times or too far ahead."""


class OutsideBatchError(ExecutionError):
    """A processor's context or store was used when no batch of its task was running.

    Nothing was forwarded or changed: it would have belonged to no batch.
    """

    def __init__(self, message: str, *, hint: str = "", where: Where | None = None) -> None:
        super().__init__(message, hint=hint or self._HINT, where=where)

    _HINT: ClassVar[str] = (
        "contexts and stores are of use in init, process and punctuators, and in their threads "
        "alone: keep none of them, and let parallel work end within process."
    )


class WorkerDiedError(ExecutionError):
    """A batch ended its worker process in each attempt.

    Args:
        message: The dead worker and the running batch.
        deaths: The number of deaths, over all Spark attempts of the task and repeats of the batch.
        under_way: The input: topic, partition, first offset, and the offset after the last one.
        hint: The next step.
        where: The group and other known parts of the place.
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
    """A newer driver has taken over this app; this one stopped without a trace."""


class JavaNotFoundError(ExecutionError):
    """Spark needs Java, and none was found. Install Java, or set JAVA_HOME.

    Attributes:
        looked_at: The rejected candidates in the order of the search, each with the reason.
    """

    def __init__(self, message: str, *, looked_at: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.looked_at = looked_at
