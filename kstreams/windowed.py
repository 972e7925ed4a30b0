"""The key of a windowed result."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

__all__ = ("NEVER_ENDS", "K_co", "Windowed")

K_co = TypeVar("K_co", covariant=True)
"""Type of the keys."""

NEVER_ENDS: Final = (1 << 63) - 1
"""The end (ms) of a window without an end, or with an unknown end."""


class Windowed(Generic[K_co]):
    """A key and a window. Immutable; compares by value.

    This class is not a dataclass, for the same reason as `Record`.

    Args:
        key: The key.
        start_ms: The start of the window in ms since the epoch, inclusive.
        end_ms: The end of the window: exclusive for tumbling, hopping, calendar and unlimited
            windows, inclusive for sliding windows and sessions.

    Source: `org.apache.kafka.streams.kstream.Windowed`.
    """

    __slots__ = ("_hash", "end_ms", "key", "start_ms")

    def __init__(self, key: K_co, start_ms: int, end_ms: int) -> None:
        self.key: Final = key
        self.start_ms: Final = start_ms
        self.end_ms: Final = end_ms
        self._hash: int | None = None

    def __eq__(self, other: object) -> bool:
        """Compare key, start and end."""
        if not isinstance(other, Windowed):
            return NotImplemented
        mine = (self.key, self.start_ms, self.end_ms)
        return mine == (other.key, other.start_ms, other.end_ms)

    def __hash__(self) -> int:
        """Hash key, start and end; the hash is cached, because a batch needs it many times."""
        if self._hash is None:
            self._hash = hash((self.key, self.start_ms, self.end_ms))
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by constructor arguments."""
        return Windowed, (self.key, self.start_ms, self.end_ms)

    def __str__(self) -> str:
        """Return `key@start/end`, as Kafka Streams does."""
        return f"{self.key}@{self.start_ms}/{self.end_ms}"

    def __repr__(self) -> str:
        """Return the text of a constructor call."""
        return f"Windowed({self.key!r}, {self.start_ms}, {self.end_ms})"
