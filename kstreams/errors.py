"""Every error that the library raises, by phase and by what the caller does next.

Each carries a `Where`: the node, store, topic, partition, offset and key as far as
they are known. All survive pickling, for those who use pools of processes; from workers
to the driver they travel otherwise (`kstreams.spark.failure`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from kstreams.quoting import repr_of, safe_text, text_of

__all__ = (
    "AppLockedError",
    "CheckpointMismatchError",
    "CompileError",
    "DataLossError",
    "DeserializationError",
    "EventTimeError",
    "ExecutionError",
    "FencedError",
    "InvalidNameError",
    "KStreamsError",
    "LimitError",
    "LogMismatchError",
    "NoCheckpointError",
    "ObjectMissingError",
    "OutsideBatchError",
    "PartitionCountError",
    "PluginError",
    "ProcessingError",
    "RecordRefusedError",
    "SavepointError",
    "SerdeError",
    "SerializationError",
    "StateCorruptError",
    "StoreError",
    "StoreKindError",
    "StoreOpenError",
    "TopicExistsError",
    "TopicRecreatedError",
    "TopologyError",
    "UnknownNodeError",
    "UnknownTopicError",
    "Where",
    "WorkerDiedError",
)

_PLACES = ("app", "group", "node", "store", "target", "topic", "partition", "offset")
_MAX_KEY_CHARS = 80
_MAX_NAME_CHARS = 300

E = TypeVar("E", bound="KStreamsError")
"""The error class that `KStreamsError.at` is called on."""


@dataclass(frozen=True)
class Where:
    """The place an error speaks of; None for what is not known.

    Topic, partition, offset, timestamp and key are those of one record. Of a result that
    does not go into its topic, `target` is that topic, and they are those of the record
    that the result comes of; key and timestamp are the result's where that is not known.
    """

    app: str | None = None
    group: str | None = None
    node: str | None = None
    store: str | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None
    key: object = None
    target: str | None = None

    def __str__(self) -> str:
        """Name the known parts, outermost first; empty when nothing is known."""
        parts = [
            f"{name} {repr_of(value, _MAX_NAME_CHARS)}"
            for name in _PLACES
            if (value := getattr(self, name)) is not None
        ]
        if self.timestamp is not None:
            parts.append(f"timestamp {repr_of(self.timestamp)} ms")
        if self.key is not None:
            parts.append(f"key {repr_of(self.key, _MAX_KEY_CHARS)}")
        return ", ".join(parts)


class KStreamsError(Exception):
    """Root of all errors of the library.

    Its text is safe to log and to print, whatever it quotes; `message` is as it was given.

    Args:
        message: What went wrong, expected against got.
        hint: What the reader can do about it; shown on a line of its own.
        where: The place; parts that become known further out are added with `at`.
    """

    message: str = ""
    hint: str = ""
    where: Where = Where()

    def __init__(self, message: str, *, hint: str = "", where: Where | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where or Where()

    def __str__(self) -> str:
        """Message, then the place in brackets, then the hint."""
        place, hint = text_of(self.where), safe_text(text_of(self.hint))
        message = safe_text(text_of(self.message))
        text = f"{message} [{place}]" if place else message
        return f"{text}\nHint: {hint}" if hint else text

    def at(self: E, **known: object) -> E:
        """Fill in parts of the place that are not known yet, and return this error."""
        missing: dict[str, Any] = {k: v for k, v in known.items() if getattr(self.where, k) is None}
        self.where = replace(self.where, **missing)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by class and fields, so that subclasses may take any arguments.

        A key that cannot be pickled travels as its text.
        """
        fields = dict(self.__dict__)
        key = self.where.key
        if key is not None and not isinstance(key, (bytes, str, int, float)):
            fields["where"] = replace(self.where, key=repr_of(key))
        return _rebuild, (type(self), fields)


def _rebuild(kind: type[KStreamsError], fields: dict[str, Any]) -> KStreamsError:
    error = kind.__new__(kind)
    Exception.__init__(error, fields["message"])
    error.__dict__.update(fields)
    return error


class TopologyError(KStreamsError, ValueError):
    """The graph is wrong; `problems` lists every fault found, sorted.

    Raised by a bad call at the call, and by `TopologyBuilder.build`. Mend the topology.
    """

    def __init__(self, message: str, *, problems: tuple[str, ...] = (), hint: str = "") -> None:
        lines = "".join(f"\n  - {problem}" for problem in problems)
        super().__init__(f"{message}{lines}", hint=hint)
        self.problems = problems


class UnknownNodeError(TopologyError, KeyError):
    """A node is named that the topology does not have."""

    __str__ = KStreamsError.__str__


class PluginError(KStreamsError, LookupError):
    """A state backend or serde is not to be had by its name; give another, or install it."""


class CompileError(KStreamsError):
    """A valid topology cannot be run as asked: on this engine, or with these settings."""


class PartitionCountError(CompileError, ValueError):
    """Topics of one group differ in partition count or partitioner, or a count is out of bounds."""


class SerdeError(KStreamsError, ValueError):
    """A key or value does not convert to or from bytes."""


class SerializationError(SerdeError):
    """An object is not what its serde writes."""


class DeserializationError(SerdeError):
    """Bytes are not what their serde reads."""


class StoreError(KStreamsError):
    """A state store failed."""


class StoreKindError(StoreError, LookupError):
    """A kind of store is not known here, or does not offer what was asked of it."""


class StoreOpenError(StoreError, OSError):
    """A state backend cannot open its files; nothing was changed. Mend the cause, restart."""

    __str__ = KStreamsError.__str__


class ObjectMissingError(StoreError, KeyError):
    """An object store has no object of this name."""

    __str__ = KStreamsError.__str__


class InvalidNameError(KStreamsError, ValueError):
    """A name cannot be a step of a path or part of an object's name; choose another.

    Attributes:
        name: The name, as it was given.
    """

    RULE: ClassVar[str] = (
        "any characters but '/', control characters and line breaks, no '.' in front, "
        "255 bytes at most."
    )
    """A hint: what may be a name."""

    def __init__(self, message: str, *, name: str = "", hint: str = RULE) -> None:
        super().__init__(message, hint=hint)
        self.name = name


class StateCorruptError(StoreError):
    """Durable state is missing or does not match its checksum; nothing was changed."""


class LogMismatchError(StateCorruptError):
    """The durable log is not what the checkpoint stands on: moved, emptied, older, another's."""

    WAY_ON: ClassVar[str] = (
        "bring the log back, or name the right one; or begin again from a savepoint, or with "
        "`kstreams reset`. docs/lost-state.md says when to do what."
    )
    """A hint: what to do when the log that the app has written is not there."""


class ExecutionError(KStreamsError, RuntimeError):
    """A running topology failed."""


class ProcessingError(ExecutionError):
    """The user's code raised; `cause_type` and `cause_traceback` tell what and where."""

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


class LimitError(ProcessingError):
    """A bound of the app is reached: no record's fault, so that no policy skips a record for it.

    The hint says how to raise the bound.
    """


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
        "alone: keep none of them, and let work that runs beside end within process"
    )


class WorkerDiedError(ExecutionError):
    """A batch has ended its worker process, too often to be tried again.

    Args:
        message: What died, and what was under way.
        deaths: How often, over Spark's attempts of the task and repeats of the batch.
        under_way: What was being read: topic, partition, first offset, offset behind the last.
        hint: What to do.
        where: Group, and what else is known.
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


class UnknownTopicError(ExecutionError, KeyError):
    """A topic does not exist where the app looks for it; create it, or mend its name."""

    __str__ = KStreamsError.__str__


class TopicExistsError(ExecutionError, ValueError):
    """A topic that is to be created exists already."""


class DataLossError(ExecutionError):
    """Offsets that the app still needs are gone from the topic."""

    WAY_ON: ClassVar[str] = (
        "a longer retention or a shorter stop avoids it. To go on without these records, reset "
        "the app: its sources' starts say where it begins then."
    )
    """A hint: what to do when records were deleted before they were read."""


class TopicRecreatedError(DataLossError):
    """A source's topic was deleted and created again: its offsets are those of others.

    Attributes:
        expected: Id of the topic that was read.
        found: Id of the topic that has its name now.
    """

    def __init__(
        self,
        message: str,
        *,
        expected: str = "",
        found: str = "",
        hint: str = "",
        where: Where | None = None,
    ) -> None:
        super().__init__(message, hint=hint, where=where)
        self.expected = expected
        self.found = found


class RecordRefusedError(ExecutionError, ValueError):
    """A topic cannot take this record; a retry fails again.

    Attributes:
        code: Kafka's or librdkafka's name of the error, such as `MSG_SIZE_TOO_LARGE`; empty
            if there is none.
    """

    WAY_ON: ClassVar[str] = (
        "Or let the sink leave such results out or set them aside: add_sink(..., "
        "on_refused='skip' or DeadLetter(topic))."
    )
    """A hint: what to do where a result is no single record's."""

    def __init__(
        self, message: str, code: str = "", *, hint: str = "", where: Where | None = None
    ) -> None:
        super().__init__(message, hint=hint, where=where)
        self.code = code


class CheckpointMismatchError(ExecutionError, ValueError):
    """The checkpoint belongs to another topology, or to another app."""


class NoCheckpointError(KStreamsError, FileNotFoundError):
    """There is no checkpoint of this app here; name its directory, or run the app first."""

    __str__ = KStreamsError.__str__


class SavepointError(ExecutionError, ValueError):
    """A savepoint cannot be made, found or forked as asked; nothing was changed."""


class AppLockedError(ExecutionError):
    """Another process runs an app on this checkpoint; `owner` tells which."""

    def __init__(self, message: str, *, owner: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.owner = owner


class FencedError(ExecutionError):
    """A newer driver has taken over this app; this one stopped without a trace."""
