"""The times that stores go by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ("BEFORE_ALL", "FixedTimes", "Times")


class Times(Protocol):
    """A task's present times, ms since the epoch."""

    @property
    def stream_time(self) -> int:
        """Return the highest timestamp so far; -1 before any."""
        ...

    @property
    def wall_time(self) -> int:
        """Return the batch's recorded wall time."""
        ...


@dataclass(frozen=True)
class FixedTimes:
    """Fixed times.

    Args:
        stream_time: The highest timestamp so far; -1 before any.
        wall_time: The recorded wall time of a batch.
    """

    stream_time: int
    wall_time: int


BEFORE_ALL = FixedTimes(-1, 0)
"""Times at which nothing has expired yet."""
