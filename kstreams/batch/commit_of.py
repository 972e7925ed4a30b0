"""The commit of a batch, from its plan and the results of its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kstreams.batch.messages.task_status import TaskStatus
from kstreams.batch.totals import totals_after
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.totals import totals_of
from kstreams.ids import TopicPartition
from kstreams.state.log.commits import Commit
from kstreams.task.times.holding import HeldBack

__all__ = ("commit_of", "held_back")


def commit_of(
    batch: int,
    run: str,
    wall_ms: int,
    plan: Plan,
    statuses: Sequence[TaskStatus],
    last: Commit | None,
    settings: QuerySettings,
) -> Commit:
    """Return the commit of a batch.

    Args:
        batch: The number of the batch.
        run: The id of the driver.
        wall_ms: The time of the commit, ms since the epoch.
        plan: The plan of the batch.
        statuses: The statuses of its tasks.
        last: The previous commit; tasks that were not called keep their state in it. None before
            the first commit.
        settings: The settings of the query.
    """
    loops = tuple(part for status in statuses for part in status.loops)
    held = {place: each.offset for place, each in held_back(statuses).items()}
    return Commit(
        batch,
        run,
        wall_ms,
        {
            **({} if last is None else last.tasks),
            **{status.task: status.pointer for status in statuses},
        },
        outputs=tuple(output for status in statuses for output in status.outputs),
        positions={**plan.positions, **held},
        fingerprint=settings.fingerprint,
        after=None if last is None else last.id,
        plan=plan.digest,
        topics=plan.topics,
        loops=loops,
        receipts=tuple(each for status in statuses for each in status.receipts),
        staged=settings.staged(part for status in statuses for part in status.staged),
        totals=totals_after(
            totals_of(last),
            statuses,
            loops_before=() if last is None else last.loops,
            loops=loops,
        ),
    )


def held_back(statuses: Sequence[TaskStatus]) -> Mapping[TopicPartition, HeldBack]:
    """Return, by partition, the records that tasks read but held back for a later batch."""
    return {place: back for status in statuses for place, back in status.held.items()}
