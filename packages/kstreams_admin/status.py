"""The status of an app as of its last commits, for the command line and metrics."""

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
    """The status of one query as of its last commit.

    Attributes:
        query: The name of the query.
        batch: The number of the committed batch; None before the first commit.
        wall_ms: The time of the commit, ms since the epoch; None before the first commit.
        totals: The total counts of the query's nodes.
        counted: Whether the commit has counts; commits of earlier versions have none.
        positions: The next offset to read, by partition.
        state_bytes: The compressed size of each task's state in the durable log.
        metas: The state of each task besides its stores: stream time and positions.
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
        """The stream time, ms since the epoch, of each task that has one."""
        times = {task: meta.stream_time for task, meta in self.metas.items()}
        return {task: time for task, time in times.items() if time != NO_TIME}


def query_statuses(checkpoint: Checkpoint, objects: ObjectStore) -> list[QueryStatus]:
    """Return the status of each query as of its last commit, sorted by name.

    Args:
        checkpoint: The checkpoint of the app.
        objects: The durable log.

    Raises:
        LogMismatchError: The log belongs to another app.
        StateCorruptError: A commit is unreadable.
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
