"""What came of one run: batch by batch, or why it has no figures."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.frames.processor_time import ProcessorTime

__all__ = ("Batch", "Run", "reason")

_LONGEST = 160


@dataclass(frozen=True)
class Batch:
    """One batch.

    Attributes:
        records: How many it read.
        start: When it began, seconds since the epoch.
        seconds: It took.
    """

    records: int
    start: float
    seconds: float

    @property
    def end(self) -> float:
        """When it ended."""
        return self.start + self.seconds


@dataclass
class Run:
    """The batches of a run.

    Attributes:
        batches: In their order; the first ones are warm-up.
        results: How many rows came out.
        failure: Why it did not come to its end; None if it did.
    """

    batches: list[Batch] = field(default_factory=list)
    results: int = 0
    failure: str | None = None

    def rate(self, warm_up: int) -> float:
        """Return records/s after the warm-up; the last batch, which moves time, is left out."""
        measured = self.batches[warm_up:-1]
        return sum(each.records for each in measured) / sum(each.seconds for each in measured)

    def cpu(self, warm_up: int, cpu: ProcessorTime, per: int) -> float:
        """Return seconds of processor time for so many records, of the same batches."""
        measured = self.batches[warm_up:-1]
        used = cpu.between(measured[0].start, measured[-1].end)
        return per * used / sum(each.records for each in measured)

    def cpu_a_batch(self, warm_up: int, cpu: ProcessorTime) -> float:
        """Return seconds of processor time a batch, what lies between batches included."""
        measured = self.batches[warm_up:]
        return cpu.between(measured[0].start, measured[-1].end) / len(measured)


def reason(error: BaseException) -> str:
    """Return what went wrong in a line: of Spark's errors the last line of Python's."""
    lines = str(error).splitlines() or [type(error).__name__]
    end = next((n for n, line in enumerate(lines) if line.startswith("\tat ")), len(lines))
    words = [line.strip() for line in lines[:end] if line.strip()]
    return (words[-1] if words else type(error).__name__)[:_LONGEST]
