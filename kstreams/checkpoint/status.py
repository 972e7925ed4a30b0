"""What an app's last commits say of it: for the command line and for metrics alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.resume import positions_after
from kstreams.checkpoint.totals import totals_of
from kstreams.ids import TaskId, TopicPartition
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import SEED
from kstreams.state.log.totals import Totals
from kstreams.task.progress.task_meta import NO_TIME, TaskMeta

__all__ = ("QueryStatus", "query_statuses")


@dataclass(frozen=True)
class QueryStatus:
    """One query at its last commit.

    Attributes:
        query: Its name.
        batch: The batch; None before the first.
        wall_ms: When it was committed, ms since the epoch; None before the first.
        totals: What its nodes have counted.
        counted: Whether the commit has counts: one of an earlier version of the library has none.
        positions: Where reading goes on.
        state_bytes: By task, the size of its state in the durable log, compressed.
        metas: By task, what it remembers besides its stores: stream time, positions.
    """

    query: str
    batch: int | None
    wall_ms: int | None
    totals: Totals
    counted: bool
    positions: Mapping[TopicPartition, int]
    state_bytes: Mapping[TaskId, int]
    metas: Mapping[TaskId, TaskMeta] = field(default_factory=dict)

    @property
    def stream_times(self) -> Mapping[TaskId, int]:
        """By task, its stream time, ms since the epoch; those that have one."""
        times = {task: meta.stream_time for task, meta in self.metas.items()}
        return {task: time for task, time in times.items() if time != NO_TIME}


def query_statuses(checkpoint: Checkpoint, objects: ObjectStore) -> list[QueryStatus]:
    """Return what the last commit of each query says, in the order of their names.

    Args:
        checkpoint: The app's.
        objects: Its durable log.

    Raises:
        LogMismatchError: The log is not the app's.
        StateCorruptError: A commit cannot be read.
    """
    return [_status(checkpoint, objects, query) for query in sorted(checkpoint.queries)]


def _status(checkpoint: Checkpoint, objects: ObjectStore, query: str) -> QueryStatus:
    last = checkpoint.commits(query, objects).last()
    if last is None:
        return QueryStatus(query, None, None, Totals(), counted=True, positions={}, state_bytes={})
    pointers = last.pointers()
    return QueryStatus(
        query,
        None if last.batch == SEED else last.batch,
        last.wall_ms,
        totals_of(last),
        counted=last.totals is not None or last.batch == SEED,
        positions=positions_after(last),
        state_bytes={
            task: pointer.snapshot_bytes + pointer.delta_bytes for task, pointer in pointers.items()
        },
        metas={task: TaskMeta.from_json(pointer.meta) for task, pointer in pointers.items()},
    )
