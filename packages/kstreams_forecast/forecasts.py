"""Requests, bytes and growth of a query per day, from its retained commits."""

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
    """The objects that a worker reads to restore a task.

    Attributes:
        task: The task.
        objects: Number of objects.
        size_bytes: Size of the objects.
    """

    task: TaskId
    objects: int
    size_bytes: int


@dataclass(frozen=True)
class QueryForecast:
    """The forecast of one query, extrapolated from its retained commits.

    Attributes:
        query: Name of the query.
        first: The first measured batch; the commit before it is retained too.
        last: The last measured batch.
        span_ms: Time from the commit before the first measured batch to the last commit.
        interval_ms: Time between two batches, measured or given by the trigger.
        puts: Average number of objects that a batch writes to the durable log, including the commit
            and merged deltas.
        put_bytes: Size of these objects without commits and plans.
        growth_bytes: Growth of the state in the durable log per batch.
        tasks: The objects of each task that a restore reads.
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
        """Number of batches per day."""
        return DAY_MS / self.interval_ms

    @property
    def puts_a_day(self) -> float:
        """Number of objects written per day to the durable log."""
        return self.puts * self.batches_a_day

    @property
    def put_bytes_a_day(self) -> float:
        """Number of bytes written per day to the durable log, without commits and plans."""
        return self.put_bytes * self.batches_a_day

    @property
    def growth_bytes_a_day(self) -> float:
        """Growth of the state per day, bytes."""
        return self.growth_bytes * self.batches_a_day

    @property
    def state_bytes(self) -> int:
        """Current compressed size of the state, in bytes."""
        return sum(task.size_bytes for task in self.tasks)


def measured_commits(checkpoint: Checkpoint, query: str, objects: ObjectStore) -> list[Commit]:
    """Return the retained commits of a query, oldest first.

    Raises:
        LogMismatchError: The log belongs to another app.
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
    """Forecast a day of a query from its retained commits.

    A longer trigger merges the input of several batches: a task that changed in any of them writes
    one delta with the last value of each key, and a worker writes one pack with the small deltas of
    all its tasks. The number of changed tasks is counted in runs of consecutive retained batches. A
    trigger shorter than the measured interval scales the number of
    batches, which gives an upper bound.

    Args:
        query: Name of the query.
        commits: The retained commits, oldest first.
        trigger_ms: The trigger, ms; None for the measured interval.
        plans_too: Whether plans are also written to the paid storage.

    Returns:
        The forecast; None if there are fewer than two commits, or no time between them.
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
    deltas = sum(len(each.changed) for each in written)
    upkeep = sum(each.upkeep for each in written) / deltas if deltas else 0.0
    changed = _changed([each.changed for each in written], merged)
    own = _changed([each.own for each in written], merged)
    shared = fmean(each.packs + each.sent for each in written)
    size = sum(each.size_bytes for each in written) / len(steps)
    growth = (_size(measured[-1]) - _size(measured[0])) / len(steps)
    share = changed / (deltas / len(steps) * merged) if deltas else 1.0
    return QueryForecast(
        query,
        steps[0][1].batch,
        measured[-1].batch,
        span,
        interval if trigger_ms is None else float(trigger_ms),
        (2 if plans_too else 1) + own + changed * upkeep + shared,
        size * scale * share,
        growth * scale,
        _restored(measured[-1]),
    )


@dataclass(frozen=True)
class _Written:
    """The objects that a batch wrote to the durable log.

    Attributes:
        changed: Tasks that wrote a delta.
        own: Tasks whose delta is an object of its own.
        packs: Number of packs with the deltas of other tasks.
        upkeep: Number of merged deltas and snapshot chunks.
        sent: Number of objects with records for the next batch or for publication.
        size_bytes: Size of all objects except `sent`.
    """

    changed: frozenset[TaskId]
    own: frozenset[TaskId]
    packs: int
    upkeep: int
    sent: int
    size_bytes: int


def _written(before: Commit, after: Commit) -> _Written:
    changed: set[TaskId] = set()
    own: set[TaskId] = set()
    packs: set[str] = set()
    known = before.pointers()
    upkeep = size = 0
    for task, pointer in after.pointers().items():
        base = known.get(task)
        known_refs = set() if base is None else set(base.objects())
        fresh = [ref for ref in pointer.objects() if ref not in known_refs]
        size += sum(ref.size_bytes for ref in fresh)
        if base is None or base.version_id != pointer.version_id:
            changed.add(task)
        packs.update(ref.name for ref in fresh if ref.part is not None)
        if any(ref.name.endswith(".delta") for ref in fresh):
            own.add(task)
        upkeep += sum(ref.part is None and not ref.name.endswith(".delta") for ref in fresh)
    sent = len(set(object_names(after.sent)))
    return _Written(frozenset(changed), frozenset(own), len(packs), upkeep, sent, size)


def _changed(changed: Sequence[frozenset[TaskId]], count: int) -> float:
    """Return the average number of tasks that change within `count` consecutive batches."""
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
