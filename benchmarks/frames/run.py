"""Outcome of one run: its batches, or the reason of its failure."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.frames.processor_time import ProcessorTime

__all__ = ("Batch", "Run", "reason")

_LONGEST = 160


@dataclass(frozen=True)
class Batch:
    """One batch.

    Attributes:
        records: The number of records read.
        start: The start of the batch, in seconds since the epoch.
        seconds: The duration.
    """

    records: int
    start: float
    seconds: float

    @property
    def end(self) -> float:
        """The end of the batch, in seconds since the epoch."""
        return self.start + self.seconds


@dataclass
class Run:
    """The batches of a run.

    Attributes:
        batches: The batches in order; the first ones are warm-up.
        results: The number of result rows.
        failure: The reason of a failure; None if the run completed.
    """

    batches: list[Batch] = field(default_factory=list)
    results: int = 0
    failure: str | None = None

    def rate(self, warm_up: int) -> float:
        """Return records/s without the warm-up and the last batch, which only advances time."""
        measured = self.batches[warm_up:-1]
        return sum(each.records for each in measured) / sum(each.seconds for each in measured)

    def cpu(self, warm_up: int, cpu: ProcessorTime, per: int) -> float:
        """Return seconds of processor time per `per` records, over the same batches as `rate`."""
        measured = self.batches[warm_up:-1]
        used = cpu.between(measured[0].start, measured[-1].end)
        return per * used / sum(each.records for each in measured)

    def cpu_a_batch(self, warm_up: int, cpu: ProcessorTime) -> float:
        """Return seconds of processor time per batch, including the time between batches."""
        measured = self.batches[warm_up:]
        return cpu.between(measured[0].start, measured[-1].end) / len(measured)


def reason(error: BaseException) -> str:
    """Return an error in one line; for Spark errors, the last line of the Python traceback."""
    lines = str(error).splitlines() or [type(error).__name__]
    end = next((n for n, line in enumerate(lines) if line.startswith("\tat ")), len(lines))
    words = [line.strip() for line in lines[:end] if line.strip()]
    return (words[-1] if words else type(error).__name__)[:_LONGEST]
