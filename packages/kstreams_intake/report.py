"""What an intake has done: what came is counted, once, by what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from kstreams_intake.contract import Gaps

__all__ = ("IntakeReport",)


@dataclass(frozen=True)
class IntakeReport:
    """How many messages came since the start, and what became of them.

    `received` is the sum of the next six.

    Attributes:
        received: How many came.
        appended: Written to the topic, and settled.
        duplicates: In the topic already, and settled.
        rejected: Not taken, which the source was told.
        skipped: Not taken, and settled.
        dead_letters: Set aside in the dead-letter topic, and settled.
        given_back: Could not be written; they should come again.
        bytes: Of the values that were appended.
        gaps: How often, and for how long, messages may have been missed.
    """

    received: int = 0
    appended: int = 0
    duplicates: int = 0
    rejected: int = 0
    skipped: int = 0
    dead_letters: int = 0
    given_back: int = 0
    bytes: int = 0
    gaps: Gaps = field(default_factory=Gaps)

    def __str__(self) -> str:
        """Say it in a line."""
        counts = (
            (self.duplicates, "came again"),
            (self.rejected, "rejected"),
            (self.skipped, "skipped"),
            (self.dead_letters, "set aside"),
            (self.given_back, "given back"),
        )
        parts = [f"{self.received:,} received, {self.appended:,} appended"]
        parts += [f"{count:,} {what}" for count, what in counts if count]
        gaps = "no gaps" if not self.gaps.count else f"{self.gaps.count:,} gaps"
        seconds = f" of {self.gaps.seconds:,.0f} s" if self.gaps.count else ""
        return ", ".join([*parts, f"{gaps}{seconds}"])
