"""The figures of one run, and their computation from observations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ("ENOUGH_RECORDS", "ENOUGH_S", "WARM_UP", "Figures", "Span", "end_of", "span_of")

WARM_UP = 0.1
"""The measurement starts when this share of the records has been processed."""
ENOUGH_S = 20.0
ENOUGH_RECORDS = 1_000_000
"""The minimum number of records to measure; in a shorter run a peer may not be warm yet."""


@dataclass(frozen=True)
class Span:
    """The measured interval: from the end of the warm-up to the last durable result."""

    start: float
    end: float
    records: int

    @property
    def rate(self) -> float:
        """Records per second."""
        return self.records / (self.end - self.start)


def span_of(points: Sequence[tuple[float, int]], records: int, end: float) -> Span:
    """Return the measured interval of a run.

    Args:
        points: Moments with the number of records processed by then, ascending.
        records: The total number of records.
        end: The moment of the last result.

    Raises:
        ValueError: All results arrived at once, so that there is no interval to measure.
    """
    for when, done in points:
        if done >= WARM_UP * records and done < records and when < end:
            return Span(when, end, records - done)
    raise ValueError("all results came at once: too few records, or too large a batch, to be timed")


def end_of(
    points: Sequence[tuple[float, int]], records: int, result: float, *, by_clock: bool
) -> float:
    """Return the end of a run: all records are processed and the last result has arrived.

    Args:
        points: Moments with the number of records processed by then, ascending.
        records: The total number of records.
        result: The moment of the last result.
        by_clock: Whether the clock triggers results, so that their time is unrelated to speed.
    """
    done = next((when for when, number in points if number >= records), result)
    return done if by_clock else max(done, result)


@dataclass(frozen=True)
class Figures:
    """Figures of one run.

    Attributes:
        records: The number of records of the run.
        rate: Records per second, from the end of the warm-up to the last result.
        startup_s: Seconds from the start of the process to the first result.
        cpu_s_per_million: Processor seconds of all its processes per million records.
        broker_cpu_s_per_million: Processor seconds of the broker per million records, over the same
            interval.
        peak_bytes: The peak memory of all its processes (PSS).
        state_bytes: The peak size of its state on disk: files and, at the end, internal topics.
        results: The number of written results, including updates.
        progress: Seconds since the start, with the number of records processed by then; for systems
            with micro-batches, the commits.
    """

    records: int
    rate: float
    startup_s: float
    cpu_s_per_million: float
    broker_cpu_s_per_million: float
    peak_bytes: int
    state_bytes: int
    results: int
    progress: list[tuple[float, int]]

    @property
    def timed_records(self) -> float:
        """Return the number of records after the warm-up."""
        return self.records * (1 - WARM_UP)

    @property
    def timed_s(self) -> float:
        """Return the seconds for the records after the warm-up."""
        return self.timed_records / self.rate

    @property
    def long_enough(self) -> bool:
        """Return whether the run was long enough to measure the rate after the warm-up."""
        return self.timed_records >= ENOUGH_RECORDS or self.timed_s >= ENOUGH_S
