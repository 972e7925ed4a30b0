"""A log of the values in a list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from typing import Generic, TypeVar

from kstreams.clock import Clock, SystemClock, to_ms
from kstreams.errors import CompileError
from kstreams.log import LogContents, LogReader
from kstreams.names import TOPIC_RULE, is_topic, shown_name
from kstreams.partitioner import count_problem
from kstreams.serde.base import Serde
from kstreams.serde.none import NONE
from kstreams.times import span_ms
from kstreams_generated_logs.numbered import NumberedContents, NumberedReader

__all__ = ("ItemLog", "items")

V = TypeVar("V")
"""Type of the values."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class ItemLog(Generic[V]):
    """The `Log` of `items`: values that are part of the topology."""

    name: str
    given: tuple[V, ...] = field(repr=False)
    value: Serde[V]
    _: KW_ONLY
    partitions: int = 1
    start: datetime = _EPOCH
    every: timedelta = timedelta(0)
    key: Serde[None] = field(default=NONE, init=False)
    bounded: bool = field(default=True, init=False)
    log_id: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the arguments."""
        if not is_topic(self.name):
            raise CompileError(f"{shown_name(self.name)} cannot name a log: use {TOPIC_RULE}")
        if problem := count_problem(self.partitions):
            raise CompileError(f"log {self.name!r}: {problem}")
        digest = sha256(repr((self.partitions, to_ms(self.start), self._every_ms)).encode())
        for data in self.value.serialize_many(self.given).to_pylist():
            digest.update(b"%d:" % (-1 if data is None else len(data)) + (data or b""))
        object.__setattr__(self, "log_id", digest.hexdigest()[:24])

    @property
    def _every_ms(self) -> int:
        return span_ms("every", self.every)

    @property
    def label(self) -> str:
        """The text in diagrams: the number of values."""
        return f"{len(self.given)} items"

    def count(self, clock: Clock) -> int:
        """Return the number of items, which does not depend on the clock."""
        return len(self.given)

    def time_ms(self, number: int) -> int:
        """Return the time of an item, ms since the epoch."""
        return to_ms(self.start) + number * self._every_ms

    def values(self, numbers: range) -> Sequence[V]:
        """Return the items with these numbers."""
        return self.given[numbers.start : numbers.stop : numbers.step]

    def contents(self) -> LogContents:
        """Open the log on the driver."""
        return NumberedContents(self, SystemClock())

    def reader(self) -> LogReader:
        """Open the log for reading in a worker."""
        return NumberedReader(self)


def items(
    name: str,
    values: Iterable[V],
    value: Serde[V],
    *,
    partitions: int = 1,
    start: datetime = _EPOCH,
    every: timedelta = timedelta(0),
) -> ItemLog[V]:
    """Return a log of the values of a list or an iterator, which is read to its end.

    The log is bounded: an app with only bounded sources ends by itself.

    The values are sent to workers with the topology, so use thousands of them, not millions. If the
    values change, the log is a different log: an app that has read the earlier values raises an
    error.

    Args:
        name: The name of the log in checkpoints.
        values: The values in order. Keys are null: set keys with `map_` or `rekey`.
        value: The serde of the values.
        partitions: The number of partitions; values are distributed round-robin.
        start: The time of the first value.
        every: The time between two values, in whole milliseconds.

    Raises:
        CompileError: The name or the number of partitions is invalid.
        SerializationError: The serde cannot write a value.
        ValueError: `every` is negative, or `start` is naive.

    Example:
        >>> from kstreams import TEXT
        >>> items("words", ["to", "be"], TEXT).label
        '2 items'
    """
    return ItemLog(name, tuple(values), value, partitions=partitions, start=start, every=every)
