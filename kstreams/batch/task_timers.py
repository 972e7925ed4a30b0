"""The wall-clock work of a query's tasks: which tasks a batch must call for it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from kstreams.clock import WatchedClock
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TaskId
from kstreams.state.log.commits import Commit

__all__ = ("TaskTimers",)

_LOG = logging.getLogger(__name__)


class TaskTimers:
    """The next time of wall-clock work of each task of a query, as the task last reported it.

    Args:
        groups: The partition groups of the query, in the order of their stages.
        counts: Number of tasks, by stage.
        clock: The clock of the app.
        last: The last commit of the query; if one of its tasks may have wall-clock work, the
            first batch calls all tasks.

    Attributes:
        call_all: Whether the next batch calls every task.
    """

    def __init__(
        self,
        groups: Sequence[PartitionGroup],
        counts: Sequence[int],
        clock: WatchedClock,
        last: Commit | None,
    ) -> None:
        self._stages = {group.name: stage for stage, group in enumerate(groups)}
        self._query = groups[0].name
        self._counts = counts
        self._clock = clock
        self._due: dict[tuple[int, int], int] = {}
        self._called_for: int | None = (
            None  # the time of the last jump of the clock for which tasks were called
        )
        self.call_all = (
            last is None
            or not last.tasks
            or any(
                pointer.meta.get("due") or "heard" in pointer.meta
                for pointer in last.pointers().values()
            )
        )

    def note(self, task: TaskId, due_ms: int | None) -> None:
        """Record the next time at which a task has wall-clock work; None for never."""
        place = (self._stages[task.group], task.partition)
        if due_ms is None:
            self._due.pop(place, None)
        else:
            self._due[place] = due_ms

    def due(self, now_ms: int) -> bool:
        """Return whether a task has wall-clock work due at a time."""
        self.notice_set_clock()
        return self.call_all or any(due <= now_ms for due in self._due.values())

    def called(self, now_ms: int, *, everyone: bool = False) -> list[tuple[int, int]]:
        """Return the stage and partition of each task that a batch calls now, sorted.

        Args:
            now_ms: The batch's wall time, ms since the epoch.
            everyone: Whether to call all tasks, due or not.
        """
        called = {task for task, due in self._due.items() if due <= now_ms}
        self.notice_set_clock()
        if self.call_all or everyone:
            self.call_all = False
            called |= {(s, t) for s, count in enumerate(self._counts) for t in range(count)}
        return sorted(called)

    def notice_set_clock(self) -> None:
        """Call all tasks once after a jump of the clock, as their next times may be far ahead."""
        if self._clock.set_ms != self._called_for:
            self._called_for = self._clock.set_ms
            self.call_all = True
            _LOG.warning(
                "query %s: the wall clock was set, to %d ms since the epoch: idleness starts over",
                self._query,
                self._clock.since_ms,
            )
