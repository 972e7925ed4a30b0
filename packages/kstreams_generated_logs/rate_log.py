"""A log of numbers at a fixed rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime

from kstreams.clock import Clock, SystemClock, to_ms
from kstreams.errors import CompileError
from kstreams.log import LogContents, LogReader
from kstreams.names import TOPIC_RULE, is_topic, shown_name
from kstreams.partitioner import count_problem
from kstreams.serde.base import Serde
from kstreams.serde.none import NONE
from kstreams.serde.numbers import INT64
from kstreams_generated_logs.numbered import NumberedContents, NumberedReader

__all__ = ("RateLog", "rate")


@dataclass(frozen=True)
class RateLog:
    """The `Log` of `rate`: numbers from 0 on, at a fixed rate."""

    name: str
    per_second: int
    _: KW_ONLY
    start: datetime
    partitions: int = 1
    key: Serde[None] = field(default=NONE, init=False)
    value: Serde[int] = field(default=INT64, init=False)

    def __post_init__(self) -> None:
        """Check the arguments."""
        if not is_topic(self.name):
            raise CompileError(f"{shown_name(self.name)} cannot name a log: use {TOPIC_RULE}")
        if problem := count_problem(self.partitions):
            raise CompileError(f"log {self.name!r}: {problem}")
        if self.per_second < 1:
            raise ValueError(
                f"log {self.name!r}: per_second is {self.per_second}, expected at least 1"
            )
        to_ms(self.start)

    @property
    def label(self) -> str:
        """The text in diagrams: the rate."""
        return f"{self.per_second} numbers a second"

    @property
    def log_id(self) -> str:
        """An id of rate, start and partitions, which determine the time of each number."""
        return f"{self.per_second}-{to_ms(self.start)}-{self.partitions}"

    def count(self, clock: Clock) -> int:
        """Return the number of records at the current time of a clock."""
        return max((clock.now_ms() - to_ms(self.start)) * self.per_second // 1000, 0)

    def time_ms(self, number: int) -> int:
        """Return the time of a number, ms since the epoch."""
        return to_ms(self.start) + number * 1000 // self.per_second

    def values(self, numbers: range) -> Sequence[int]:
        """Return the values of rows with these numbers: the numbers themselves."""
        return numbers

    def contents(self, clock: Clock | None = None) -> LogContents:
        """Open the log on the driver with a clock; the system clock by default."""
        return NumberedContents(self, clock or SystemClock())

    def reader(self) -> LogReader:
        """Open the log for reading in a worker."""
        return NumberedReader(self)


def rate(name: str, per_second: int, *, start: datetime, partitions: int = 1) -> RateLog:
    """Return a log of the numbers 0, 1, 2, ... at a fixed rate, for measurements under load.

    A number exists from its time on, and is the same in each run; a stopped app reads the missed
    numbers later. In `TopologyTestDriver(real_sources=True)` the driver's clock determines the
    current number: `advance_wall_clock` adds records.

    Args:
        name: The name of the log in checkpoints.
        per_second: The numbers per second, over all partitions.
        start: The time of number 0, with a time zone; the same at each start of an app.
        partitions: The number of partitions; numbers are distributed round-robin.

    Raises:
        CompileError: The name or the number of partitions is invalid.
        ValueError: `per_second` is below 1, or `start` is naive.

    Source: Spark's source `rate`, which starts with the query.
    """
    return RateLog(name, per_second, start=start, partitions=partitions)
