"""What the tasks of a batch are called with, by its plan and the commit that it follows."""

from __future__ import annotations

from collections.abc import Iterator

from kstreams.batch.envelope import Envelope
from kstreams.batch.stage_settings import QuerySettings
from kstreams.batch.task_call import TaskCall
from kstreams.checkpoint.plans import Plan
from kstreams.ids import TaskId
from kstreams.state.log.commits import Commit

__all__ = ("calls_of",)


def calls_of(settings: QuerySettings, plan: Plan, last: Commit | None) -> Iterator[Envelope]:
    """Yield the calls of those that may run: edges may lead to any task of a later stage.

    Args:
        settings: The query's.
        plan: The batch's.
        last: The commit that it follows; None before any.
    """
    pointers = {} if last is None else last.tasks
    loops = settings.loops_by_task(() if last is None else last.loops)
    for stage, group in enumerate(settings.groups):
        for task in range(settings.counts[stage]):
            slices = plan.tasks.get((stage, task))
            if stage or slices is not None:
                own = frozenset(each.topic_partition for each in slices or ())
                call = TaskCall(
                    tuple(slices or ()),
                    plan.wall_ms,
                    plan.since_ms,
                    plan.close_windows,
                    pointers.get(TaskId(group.name, task)),
                    required=slices is not None,
                    loops=loops.get((stage, task), ()),
                    holding=None if plan.holding is None else plan.holding.among(own),
                )
                yield Envelope(stage, task, call)
