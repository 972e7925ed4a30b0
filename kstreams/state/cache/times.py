"""The times that determine which rows of stores have expired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ("BEFORE_ALL", "FixedTimes", "Times")


class Times(Protocol):
    """A task's current times, in ms since the Unix epoch."""

    @property
    def stream_time(self) -> int:
        """Return the highest timestamp so far; -1 before the first record."""
        ...

    @property
    def wall_time(self) -> int:
        """Return the batch's recorded wall time."""
        ...


@dataclass(frozen=True)
class FixedTimes:
    """Times that do not change, in ms since the Unix epoch.

    Args:
        stream_time: The highest timestamp so far; -1 before the first record.
        wall_time: The recorded wall time of a batch.
    """

    stream_time: int
    wall_time: int


BEFORE_ALL = FixedTimes(-1, 0)
"""Times at which nothing has expired yet."""
