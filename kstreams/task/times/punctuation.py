"""Schedules of punctuators: on a grid, once after a jump, remembered across batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kstreams.task.progress.task_meta import CANCELLED, TaskMeta

__all__ = ("NEVER", "Punctuators", "Schedule")

NEVER = 1 << 62
"""Later than any due time."""


@dataclass
class Schedule:
    """One punctuator; `due` is in ms of its clock."""

    node: str
    name: str
    interval: int
    callback: Callable[[int], None]
    meta: TaskMeta

    @property
    def due(self) -> int:
        """When it fires next; `NEVER` once cancelled."""
        due = self.meta.due[self.name]
        return NEVER if due == CANCELLED else due

    def cancel(self) -> None:
        """Never fire again, also after a restart."""
        self.meta.due[self.name] = CANCELLED

    def set_back(self, now: int) -> None:
        """Be due within an interval of `now`, on the same grid, if a clock was ahead before."""
        due = self.meta.due[self.name]
        self.meta.due[self.name] = due - max(due - now - 1, 0) // self.interval * self.interval

    def align(self, now: int) -> None:
        """Be on the grid of the interval, which may have been another one before.

        Args:
            now: Stream time, ms.
        """
        due = self.meta.due[self.name]
        if due != CANCELLED:
            nearest = min(due, max(now, 0) + self.interval)
            self.meta.due[self.name] = nearest - nearest % self.interval

    def fire(self, now: int) -> None:
        """Move to the next grid point after `now`, then call.

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
        """Move schedules that are further ahead than their interval.

        The clock was set back in that case.
        """
        for schedule in self.schedules:
            schedule.set_back(now)

    def next_due(self) -> int:
        """Return when the next one is due, or `NEVER`."""
        return min([schedule.due for schedule in self.schedules], default=NEVER)

    def fire_due(self, now: int, call: Callable[[Schedule, int], None]) -> None:
        """Fire each one that is due, by due time, then by the order of scheduling."""
        ready = [schedule for schedule in self.schedules if schedule.due <= now]
        if len(ready) > 1:
            ready.sort(key=lambda schedule: schedule.due)
        for schedule in ready:
            if schedule.due <= now:
                call(schedule, now)
