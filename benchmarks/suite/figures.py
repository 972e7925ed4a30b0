"""The figures of one run, and how they follow from what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ("ENOUGH_RECORDS", "ENOUGH_S", "WARM_UP", "Figures", "Span", "end_of", "span_of")

WARM_UP = 0.1
"""The clock starts when this share of the records is done."""
ENOUGH_S = 20.0
ENOUGH_RECORDS = 1_000_000
"""Seconds, or records, that are timed at least: in a shorter run a peer may not be warm yet."""


@dataclass(frozen=True)
class Span:
    """What is timed: from a moment to the last durable result, and the records in between."""

    start: float
    end: float
    records: int

    @property
    def rate(self) -> float:
        """Records a second."""
        return self.records / (self.end - self.start)


def span_of(points: Sequence[tuple[float, int]], records: int, end: float) -> Span:
    """Return what is timed of a run.

    Args:
        points: Moments and how many records were done by then, rising.
        records: How many there are in all.
        end: When the last result was there.

    Raises:
        ValueError: Everything came at once, so that there is nothing to time.
    """
    for when, done in points:
        if done >= WARM_UP * records and done < records and when < end:
            return Span(when, end, records - done)
    raise ValueError("all results came at once: too few records, or too large a batch, to be timed")


def end_of(
    points: Sequence[tuple[float, int]], records: int, result: float, *, by_clock: bool
) -> float:
    """Return when a run was over: all records done, and the last result there.

    Args:
        points: Moments and how many records were done by then, rising.
        records: How many there are in all.
        result: When the last result was there.
        by_clock: Whether results come when the clock says so, which is no matter of speed.
    """
    done = next((when for when, number in points if number >= records), result)
    return done if by_clock else max(done, result)


@dataclass(frozen=True)
class Figures:
    """What one run gave.

    Attributes:
        records: How many records the run had.
        rate: Records a second, from the end of the warm-up to the last result.
        startup_s: From the start of the process to the first result.
        cpu_s_per_million: Processor seconds of all its processes for a million records.
        broker_cpu_s_per_million: The broker's, in the same span.
        peak_bytes: The most memory of all its processes at one moment (PSS).
        state_bytes: The most of its state on disk, in files and, at the end, topics of its own.
        results: How many results it wrote, updates included.
        progress: Seconds since its start, and how many records were done by then; for
            systems that work in micro-batches the commits.
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
        """Return how many records came after the warm-up."""
        return self.records * (1 - WARM_UP)

    @property
    def timed_s(self) -> float:
        """Return how long they took, seconds."""
        return self.timed_records / self.rate

    @property
    def long_enough(self) -> bool:
        """Tell whether the rate is that of a warm peer."""
        return self.timed_records >= ENOUGH_RECORDS or self.timed_s >= ENOUGH_S
