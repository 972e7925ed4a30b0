"""Window results that are held back until they may be forwarded."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from typing_extensions import override

from kstreams._types import V
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde
from kstreams.state.stores.kind import StoreKind, Times, is_within
from kstreams.windowed import Windowed

__all__ = (
    "BufferedKind",
    "BufferedResult",
    "BufferedState",
    "BufferedStateSerde",
    "state_after",
)

_TIME = struct.Struct(">q")
_HAS, _EMITTED = 1, 2


@dataclass(frozen=True)
class BufferedState(Generic[V]):
    """The last state of one window.

    Attributes:
        value: The aggregator's state; None: the session was deleted.
        time_ms: The result's timestamp.
        emitted: Whether an earlier result of this window was forwarded. If not, a deletion of the
            window need not be forwarded.
    """

    value: V | None
    time_ms: int
    emitted: bool


@dataclass(frozen=True)
class BufferedResult(Generic[V]):
    """A result that an aggregation holds back, as a store returns it.

    Attributes:
        value: The aggregator's state; None: the session was deleted.
        timestamp_ms: The result's timestamp.
        due_ms: The stream time (ms) at which the result is forwarded.
    """

    value: V | None
    timestamp_ms: int
    due_ms: int


def state_after(
    before: BufferedState[V] | None, value: V | None, time_ms: int
) -> BufferedState[V] | None:
    """Return the buffered state after a change of a window, or None if nothing is buffered.

    If the first change of a window is a deletion, an earlier result of the window was forwarded,
    because a new session gets a value before it can be deleted.

    Args:
        before: The buffered state before the change, or None.
        value: The new state; None if the window was deleted.
        time_ms: The result's timestamp.
    """
    if value is not None:
        return BufferedState(value, time_ms, before is not None and before.emitted)
    if before is not None and not before.emitted:
        return None
    return BufferedState(None, time_ms, emitted=True)


class BufferedStateSerde(CompositeSerde["BufferedState[V]"]):
    """The serde of `BufferedState`.

    Writes a byte of flags, 8 bytes of timestamp (ms, big-endian), then the value unless it is None.

    Args:
        value: Serde of the values.
    """

    type_token = BufferedState

    def __init__(self, value: Serde[V]) -> None:
        super().__init__("buffered-state", value)
        self._value = value

    @override
    def serialize(self, value: BufferedState[V]) -> bytes:
        content = value.value
        flags = (_HAS if content is not None else 0) | (_EMITTED if value.emitted else 0)
        data = b"" if content is None else self._value.serialize(content)
        try:
            return bytes((flags,)) + _TIME.pack(value.time_ms) + data
        except struct.error as exc:
            raise SerializationError(
                f"expected an int64 time in ms, got {value.time_ms!r}"
            ) from exc

    @override
    def deserialize(self, data: bytes) -> BufferedState[V]:
        try:
            time: int = _TIME.unpack_from(data, 1)[0]
        except struct.error as exc:
            raise DeserializationError(
                f"expected a buffered value of 9 bytes or more, got {data[:40]!r}"
            ) from exc
        content = self._value.deserialize(data[9:]) if data[0] & _HAS else None
        return BufferedState(content, time, bool(data[0] & _EMITTED))


_Row = tuple[Windowed[Any], BufferedResult[Any]]


class _BufferStore(Protocol):
    """The protocol of stores with buffered results of windows."""

    def fetch(self, key: Any, *, reverse: bool = ...) -> Iterator[_Row]:  # noqa: ANN401
        """Yield the windows of a key that have buffered results, each with its result."""
        ...

    def fetch_all(self, *, reverse: bool = ...) -> Iterator[_Row]:
        """Yield all windows that have buffered results, each with its result."""
        ...


S = TypeVar("S", bound=_BufferStore)
"""The type of the opened store."""


@dataclass(frozen=True)
class BufferedKind(StoreKind[S]):
    """The base of kinds of stores whose rows are windows with buffered results."""

    columns: ClassVar[tuple[str, ...]] = (
        "key",
        "start_ms",
        "end_ms",
        "due_ms",
        "value",
        "timestamp_ms",
    )

    @override
    def scan(self, store: S, start: object, end: object, *, reverse: bool) -> Iterator[_Row]:
        rows = store.fetch_all(reverse=reverse)
        return (row for row in rows if is_within(row[0].key, start, end))

    @override
    def flat(self, row: _Row) -> Iterator[tuple[Any, ...]]:
        window, result = row
        times = window.start_ms, window.end_ms, result.due_ms
        yield window.key, *times, result.value, result.timestamp_ms

    @override
    def flat_of_key(self, store: S, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        for row in store.fetch(key):
            for _, *rest in self.flat(row):
                yield tuple(rest)
