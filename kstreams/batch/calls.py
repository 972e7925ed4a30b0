"""The calls of a batch's tasks, from its plan and the previous commit."""

from __future__ import annotations

from collections.abc import Iterator

from kstreams.batch.messages.envelope import Envelope
from kstreams.batch.messages.task_call import TaskCall
from kstreams.batch.planning.limits import Granted, QueryLimits
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.planning.plans import Plan
from kstreams.ids import TaskId
from kstreams.state.log.commits import Commit

__all__ = ("calls_of", "shares_of")


def calls_of(settings: QuerySettings, plan: Plan, last: Commit | None) -> Iterator[Envelope]:
    """Yield the calls of all tasks that may run: in later stages, any task may get records.

    Args:
        settings: The settings of the query.
        plan: The plan of the batch.
        last: The previous commit; None before the first commit.
    """
    pointers = {} if last is None else last.tasks
    loops = settings.loops_by_task(() if last is None else last.loops)
    shares = shares_of(settings, plan, last)
    for stage, group in enumerate(settings.groups):
        nodes = {node.name for node in group.processors}
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
                    limits={node: found[task] for node, found in shares.items() if node in nodes},
                )
                yield Envelope(stage, task, call)


def shares_of(settings: QuerySettings, plan: Plan, last: Commit | None) -> Granted:
    """Return the allowance of each task in a batch, by `limit` node and task.

    An allowance is the number of records that a task may pass, including earlier batches. The
    result has only the `limit` nodes that run in several tasks.

    Args:
        settings: The settings of the query.
        plan: The plan of the batch.
        last: The previous commit; None before the first commit.
    """
    limits = QueryLimits(settings.groups, settings.counts)
    if not limits.any:
        return {}
    records = {task: sum(map(len, slices)) for task, slices in plan.tasks.items()}
    passed = limits.passed({} if last is None else last.tasks)
    return limits.shares(passed, records, plan.limits)
