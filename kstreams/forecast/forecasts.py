"""Requests, bytes and growth of an app a day, from the commits that are retained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.errors import ObjectMissingError
from kstreams.ids import TaskId
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import SEED, Commit
from kstreams.state.log.loop_objects import object_names
from kstreams.state.log.pointer import ObjectRef

__all__ = ("DAY_MS", "QueryForecast", "RestoredTask", "forecast_query", "measured_commits")

DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True)
class RestoredTask:
    """What a worker without a copy reads to go on with a task.

    Attributes:
        task: The task.
        objects: How many objects.
        size_bytes: Their size.
    """

    task: TaskId
    objects: int
    size_bytes: int


@dataclass(frozen=True)
class QueryForecast:
    """One query, if it goes on as it did between its first and its last retained commit.

    Attributes:
        query: Its name.
        first: The first of the batches that this is measured by; the one before them is retained.
        last: The last.
        span_ms: The time between the commit before them and the last one.
        interval_ms: Between two batches: as measured, or as the trigger says.
        puts: Of a batch: objects that it puts into the durable log, upkeep and commit among them.
        put_bytes: Of a batch: their size, but for commits and plans.
        growth_bytes: Of a batch: by how much the state grows in the durable log.
        tasks: What restoring takes.
    """

    query: str
    first: int
    last: int
    span_ms: int
    interval_ms: float
    puts: float
    put_bytes: float
    growth_bytes: float
    tasks: tuple[RestoredTask, ...]

    @property
    def batches_a_day(self) -> float:
        """How many batches a day has."""
        return DAY_MS / self.interval_ms

    @property
    def puts_a_day(self) -> float:
        """How many objects are put in a day."""
        return self.puts * self.batches_a_day

    @property
    def put_bytes_a_day(self) -> float:
        """How many bytes are put in a day."""
        return self.put_bytes * self.batches_a_day

    @property
    def growth_bytes_a_day(self) -> float:
        """By how many bytes the state grows in a day."""
        return self.growth_bytes * self.batches_a_day

    @property
    def state_bytes(self) -> int:
        """How large the state is now, compressed."""
        return sum(task.size_bytes for task in self.tasks)


def measured_commits(checkpoint: Checkpoint, query: str, objects: ObjectStore) -> list[Commit]:
    """Return the retained commits of a query, oldest first.

    Raises:
        LogMismatchError: The log is not the app's.
        StateCorruptError: A commit cannot be read.
    """
    log = checkpoint.commits(query, objects)
    found: list[Commit] = []
    for batch in log.batches():
        try:
            found.append(log.at(batch))
        except ObjectMissingError:  # collected since it was listed
            found.clear()
    return found


def forecast_query(
    query: str, commits: Sequence[Commit], *, trigger_ms: int | None = None, plans_too: bool = False
) -> QueryForecast | None:
    """Say what a query does in a day, by what it did between its first and last retained commit.

    With a longer trigger the input of several batches comes in one: a task that has changed in
    any of them writes one delta, which holds the last value of each key; how many tasks that are
    is counted in runs of so many of the retained batches. A trigger that is shorter than the
    time between batches was is taken at its word: that is the most there can be.

    Args:
        query: Its name.
        commits: Those that are retained, oldest first.
        trigger_ms: The trigger, ms; None: as it was.
        plans_too: Whether plans are put into paid storage too.

    Returns:
        None where there are not two commits, or no time between them.
    """
    measured = [commit for commit in commits if commit.batch != SEED]
    steps = list(pairwise(measured))
    if not steps or measured[-1].wall_ms <= measured[0].wall_ms:
        return None
    span = measured[-1].wall_ms - measured[0].wall_ms
    interval = span / len(steps)
    scale = 1.0 if trigger_ms is None else trigger_ms / interval
    merged = max(1, round(scale))
    written = [_written(before, after) for before, after in steps]
    deltas = sum(len(each.deltas) for each in written)
    upkeep = sum(each.upkeep for each in written) / deltas if deltas else 0.0
    changed = _changed([each.deltas for each in written], merged)
    sent = fmean(each.sent for each in written)
    size = sum(each.size_bytes for each in written) / len(steps)
    growth = (_size(measured[-1]) - _size(measured[0])) / len(steps)
    share = changed / (deltas / len(steps) * merged) if deltas else 1.0
    return QueryForecast(
        query,
        steps[0][1].batch,
        measured[-1].batch,
        span,
        interval if trigger_ms is None else float(trigger_ms),
        (2 if plans_too else 1) + changed * (1 + upkeep) + sent,
        size * scale * share,
        growth * scale,
        _restored(measured[-1]),
    )


@dataclass(frozen=True)
class _Written:
    """What a batch has put into the durable log.

    Attributes:
        deltas: Tasks that have written one.
        upkeep: How many mergers and chunks of snapshots.
        sent: How many objects with what waits for the next batch, or for publishing.
        size_bytes: Of all but the last.
    """

    deltas: frozenset[TaskId]
    upkeep: int
    sent: int
    size_bytes: int


def _written(before: Commit, after: Commit) -> _Written:
    deltas: set[TaskId] = set()
    known = before.pointers()
    upkeep = size = 0
    for task, pointer in after.pointers().items():
        base = known.get(task)
        names = set() if base is None else {ref.name for ref in base.objects()}
        fresh = [ref for ref in pointer.objects() if ref.name not in names]
        size += sum(ref.size_bytes for ref in fresh)
        if base is None or base.lineage != pointer.lineage:
            deltas.add(task)
        upkeep += sum(not _is_delta(ref) for ref in fresh)
    return _Written(frozenset(deltas), upkeep, len(set(object_names(after.sent))), size)


def _is_delta(ref: ObjectRef) -> bool:
    return ref.name.endswith(".delta")


def _changed(changed: Sequence[frozenset[TaskId]], count: int) -> float:
    """Return how many tasks change in so many batches that follow each other, on average."""
    count = min(count, len(changed))
    runs = range(len(changed) - count + 1)
    return fmean(len(frozenset().union(*changed[n : n + count])) for n in runs)


def _restored(commit: Commit) -> tuple[RestoredTask, ...]:
    pointers: Mapping[TaskId, tuple[ObjectRef, ...]] = {
        task: pointer.objects() for task, pointer in commit.pointers().items()
    }
    return tuple(
        RestoredTask(task, len(refs), sum(ref.size_bytes for ref in refs))
        for task, refs in sorted(pointers.items())
        if refs
    )


def _size(commit: Commit) -> int:
    return sum(p.snapshot_bytes + p.delta_bytes for p in commit.pointers().values())
