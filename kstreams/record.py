"""The record: a key, value, event time and headers that nodes of a topology process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

__all__ = ("Headers", "Record", "RecordMetadata")

Headers = tuple[tuple[str, "bytes | None"], ...]
"""Headers in order; a name may occur more than once, as in Kafka."""

K_co = TypeVar("K_co", covariant=True)
"""Type of a record's key."""
V_co = TypeVar("V_co", covariant=True)
"""Type of a record's value."""
K2 = TypeVar("K2")
"""Type of a replaced key."""
V2 = TypeVar("V2")
"""Type of a replaced value."""


class Record(Generic[K_co, V_co]):
    """An immutable record.

    It is a plain class with slots and final attributes instead of a frozen dataclass, because one
    is created per record and node, and `object.__setattr__` would triple the cost.

    Args:
        key: The decoded key; None only where the topology's types allow it.
        value: The decoded value; None is a tombstone.
        timestamp: Event time in milliseconds since the epoch.
        headers: Pairs of name and value; kept by `with_*` and by sinks.
    """

    __slots__ = ("headers", "key", "timestamp", "value")

    def __init__(self, key: K_co, value: V_co, timestamp: int = 0, headers: Headers = ()) -> None:
        self.key: Final = key
        self.value: Final = value
        self.timestamp: Final = timestamp
        self.headers: Final = headers

    def with_key(self, key: K2) -> Record[K2, V_co]:
        """Return this record with another key."""
        return Record(key, self.value, self.timestamp, self.headers)

    def with_value(self, value: V2) -> Record[K_co, V2]:
        """Return this record with another value."""
        return Record(self.key, value, self.timestamp, self.headers)

    def with_timestamp(self, timestamp: int) -> Record[K_co, V_co]:
        """Return this record with another event time, in milliseconds since the epoch."""
        return Record(self.key, self.value, timestamp, self.headers)

    def with_headers(self, headers: Headers) -> Record[K_co, V_co]:
        """Return this record with other headers."""
        return Record(self.key, self.value, self.timestamp, headers)

    def __eq__(self, other: object) -> bool:
        """Compare all four parts."""
        if not isinstance(other, Record):
            return NotImplemented
        return (self.key, self.value, self.timestamp, self.headers) == (
            other.key,
            other.value,
            other.timestamp,
            other.headers,
        )

    def __hash__(self) -> int:
        """Hash all four parts; raises `TypeError` if one of them is not hashable."""
        return hash((self.key, self.value, self.timestamp, self.headers))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by constructor arguments."""
        return Record, (self.key, self.value, self.timestamp, self.headers)

    def __repr__(self) -> str:
        """Return the text of a constructor call, with headers only if there are any."""
        headers = f", headers={self.headers!r}" if self.headers else ""
        return f"Record({self.key!r}, {self.value!r}, timestamp={self.timestamp}{headers})"


@dataclass(frozen=True)
class RecordMetadata:
    """The origin of the record that is being processed.

    `topic` is the source topic or the name of the repartition edge. `partition` and `offset` are
    positions in the topic; for an edge they are the upstream task and the sequence number.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    headers: Headers = ()
