"""A result that waits to be forwarded."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Generic

from kstreams._types import K, V
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde

__all__ = ("WAITING_COLUMNS", "Waiting", "WaitingResult", "WaitingSerde", "noted")


WAITING_COLUMNS = ("key", "start_ms", "end_ms", "due_ms", "value", "timestamp_ms")
"""Names of what `WaitingResult.flat` returns."""

_TIME = struct.Struct(">q")
_HAS, _TOLD = 1, 2


@dataclass(frozen=True)
class Waiting(Generic[V]):
    """The last that is known of one window.

    Attributes:
        value: The state; None: the session was deleted.
        time_ms: The result's timestamp.
        told: Whether an earlier result of this window was forwarded: if not, nobody needs
            to hear of its deletion.
    """

    value: V | None
    time_ms: int
    told: bool


@dataclass(frozen=True)
class WaitingResult(Generic[K, V]):
    """A result that waits, as it is seen from outside.

    Attributes:
        key: The key.
        start_ms: Start of its window.
        end_ms: End of its window.
        due_ms: When it is forwarded, in stream time.
        value: The aggregator's state; None: the session was deleted.
        timestamp_ms: The result's timestamp.
    """

    key: K
    start_ms: int
    end_ms: int
    due_ms: int
    value: V | None
    timestamp_ms: int

    def flat(self) -> tuple[K, int, int, int, V | None, int]:
        """Return it as `WAITING_COLUMNS`."""
        return self.key, self.start_ms, self.end_ms, self.due_ms, self.value, self.timestamp_ms


def noted(before: Waiting[V] | None, value: V | None, time_ms: int) -> Waiting[V] | None:
    """Return what waits after a change of a window; None is nothing at all.

    Sessions are deleted before they come back with another value, so a window whose first
    change is a deletion has been forwarded.

    Args:
        before: What waited until now.
        value: The new state; None: it was deleted.
        time_ms: The result's timestamp.
    """
    if value is not None:
        return Waiting(value, time_ms, before is not None and before.told)
    if before is not None and not before.told:
        return None
    return Waiting(None, time_ms, told=True)


class WaitingSerde(CompositeSerde["Waiting[V]"]):
    """A byte of flags, 8 bytes of timestamp (ms, big-endian), then the value if there is one.

    Args:
        value: Serde of the values.
    """

    type_token = Waiting

    def __init__(self, value: Serde[V]) -> None:
        super().__init__("waiting", value)
        self._value = value

    def serialize(self, value: Waiting[V]) -> bytes:
        """Convert; a time that is no int64 is a `SerializationError`."""
        content = value.value
        flags = (_HAS if content is not None else 0) | (_TOLD if value.told else 0)
        data = b"" if content is None else self._value.serialize(content)
        try:
            return bytes((flags,)) + _TIME.pack(value.time_ms) + data
        except struct.error as exc:
            raise SerializationError(f"expected an int64 time, got {value.time_ms!r}") from exc

    def deserialize(self, data: bytes) -> Waiting[V]:
        """Convert back; fewer than 9 bytes are a `DeserializationError`."""
        try:
            time: int = _TIME.unpack_from(data, 1)[0]
        except struct.error as exc:
            raise DeserializationError(f"expected flags and a time, got {data[:40]!r}") from exc
        content = self._value.deserialize(data[9:]) if data[0] & _HAS else None
        return Waiting(content, time, bool(data[0] & _TOLD))
