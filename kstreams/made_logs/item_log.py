"""A list as a log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from typing import Generic, TypeVar

from kstreams.clock import Clock, SystemClock, to_ms
from kstreams.errors import CompileError
from kstreams.log import LogContents, LogReader
from kstreams.made_logs.numbered import NumberedContents, NumberedReader
from kstreams.names import TOPIC_RULE, is_topic, shown_name
from kstreams.partitioner import count_problem
from kstreams.serde.base import Serde
from kstreams.serde.none import NONE
from kstreams.times import span_ms

__all__ = ("ItemLog", "items")

V = TypeVar("V")
"""Type of the values."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class ItemLog(Generic[V]):
    """What `items` returns: a `Log` of values that are sent along with the topology."""

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
        """How many there are."""
        return f"{len(self.given)} items"

    def count(self, clock: Clock) -> int:
        """Return how many there are, whatever the time."""
        return len(self.given)

    def time_ms(self, number: int) -> int:
        """Return the time of an item."""
        return to_ms(self.start) + number * self._every_ms

    def values(self, numbers: range) -> Sequence[V]:
        """Return some of the items."""
        return self.given[numbers.start : numbers.stop : numbers.step]

    def contents(self) -> LogContents:
        """Open the driver's side."""
        return NumberedContents(self, SystemClock())

    def reader(self) -> LogReader:
        """Open the worker's side."""
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
    """Return the log that some values are: of a list, or of an iterator, which is read to its end.

    The log is bounded: an app with bounded sources alone ends by itself.

    They are sent to workers with the topology: thousands of them, not millions. Other values
    are another log: an app that has read some of the former ones is told so.

    Args:
        name: Of the log, for its positions in checkpoints.
        values: In their order. Keys are null: give records keys by `map_` or `rekey`.
        value: Serde of the values.
        partitions: How many; values are dealt to them in turn.
        start: Time of the first one.
        every: How much later each other one is, whole milliseconds.

    Raises:
        CompileError: The name or the number of partitions cannot be.
        SerializationError: A value is none of the serde's.
        ValueError: `every` is negative, or `start` is naive.

    Example:
        >>> from kstreams import TEXT
        >>> items("words", ["to", "be"], TEXT).label
        '2 items'
    """
    return ItemLog(name, tuple(values), value, partitions=partitions, start=start, every=every)
