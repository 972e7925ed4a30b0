"""The counts of an intake: each message is counted once, by its outcome."""

from __future__ import annotations

from dataclasses import dataclass, field

from kstreams_intake.contract import Gaps

__all__ = ("IntakeReport",)


@dataclass(frozen=True)
class IntakeReport:
    """The numbers of messages since the start, by outcome.

    `received` is the sum of the six outcomes.

    Attributes:
        received: The number of received messages.
        appended: Written to the topic, and settled.
        duplicates: In the topic already, and settled.
        rejected: Rejected at the source.
        skipped: Invalid, and settled.
        dead_letters: Written to the dead-letter topic, and settled.
        given_back: Not written; the source should deliver them again.
        bytes: The bytes of the appended values.
        gaps: The periods in which messages may have been missed.
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
        """Return the counts as one line of text."""
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
