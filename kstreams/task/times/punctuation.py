"""Schedules of punctuators, kept between batches.

Successive due times of a punctuator differ by whole intervals. After a jump of the clock, the
punctuator fires once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kstreams.task.progress.task_meta import CANCELLED, TaskMeta

__all__ = ("NEVER", "Punctuators", "Schedule")

NEVER = 1 << 62
"""A time later than any due time."""


@dataclass
class Schedule:
    """One punctuator of a node, with its interval in ms of stream time or wall time."""

    node: str
    name: str
    interval: int
    callback: Callable[[int], None]
    meta: TaskMeta

    @property
    def due(self) -> int:
        """The next time at which the punctuator fires, ms; `NEVER` if it is cancelled."""
        due = self.meta.due[self.name]
        return NEVER if due == CANCELLED else due

    def cancel(self) -> None:
        """Cancel the punctuator; it stays canceled after a restart."""
        self.meta.due[self.name] = CANCELLED

    def set_back(self, now: int) -> None:
        """Move the due time back by whole intervals, to at most one interval after `now`."""
        due = self.meta.due[self.name]
        self.meta.due[self.name] = due - max(due - now - 1, 0) // self.interval * self.interval

    def align(self, now: int) -> None:
        """Set the due time to a multiple of the interval, which may have changed at a restart.

        Args:
            now: Stream time, ms.
        """
        due = self.meta.due[self.name]
        if due != CANCELLED:
            nearest = min(due, max(now, 0) + self.interval)
            self.meta.due[self.name] = nearest - nearest % self.interval

    def fire(self, now: int) -> None:
        """Move the due time forward by whole intervals to after `now`, then call the callback.

        Source: `org.apache.kafka.streams.processor.internals.PunctuationSchedule#next`.
        """
        due = self.meta.due[self.name]
        self.meta.due[self.name] = due + ((now - due) // self.interval + 1) * self.interval
        self.callback(now)


class Punctuators:
    """All punctuators of a task that follow one clock."""

    def __init__(self) -> None:
        self.schedules: list[Schedule] = []

    def set_back(self, now: int) -> None:
        """Move schedules back that are due more than one interval after `now`.

        This happens if the clock was set back.
        """
        for schedule in self.schedules:
            schedule.set_back(now)

    def next_due(self) -> int:
        """Return the earliest due time, ms, or `NEVER`."""
        return min([schedule.due for schedule in self.schedules], default=NEVER)

    def fire_due(self, now: int, call: Callable[[Schedule, int], None]) -> None:
        """Fire all due punctuators, by due time, then by the order of scheduling."""
        ready = [schedule for schedule in self.schedules if schedule.due <= now]
        if len(ready) > 1:
            ready.sort(key=lambda schedule: schedule.due)
        for schedule in ready:
            if schedule.due <= now:
                call(schedule, now)
