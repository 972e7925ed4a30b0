"""Why a key has its value: which batches have changed it, and which records of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from kstreams.checkpoint.store_place import StorePlace
from kstreams.errors import KStreamsError, ReplayError
from kstreams.explain.batch_replay import BatchReplay, TaskView, why_not
from kstreams.explain.history import KeyChange, KeyHistory, history_of
from kstreams.explain.key_rows import KeyRows, Rows
from kstreams.explain.key_watch import KeyWatch, Step, TouchedKey
from kstreams.explain.origins import Edges, EdgeWatch, Origin
from kstreams.explain.replayed_app import ReplayedApp, ReplayedQuery
from kstreams.ids import TaskId
from kstreams.partitioner import Partitioner
from kstreams.serde.values import exact
from kstreams.state.cache.times import FixedTimes

__all__ = ("ExplainedChange", "ExplainedStep", "Explanation", "ReadRange", "explain_key")


@dataclass(frozen=True)
class ReadRange:
    """Offsets that a batch has read: `from_offset <= offset < to_offset`."""

    topic: str
    partition: int
    from_offset: int
    to_offset: int

    def to_json(self) -> dict[str, object]:
        """Return `{topic, partition, from_offset, to_offset}`."""
        return {**vars(self)}


@dataclass(frozen=True)
class ExplainedStep:
    """What one record did to the key.

    Attributes:
        step: The node, the record as it came there, and the rows before and after.
        origin: Which record of a topic that was; None: a timer, or a processor of tables.
    """

    step: Step
    origin: Origin | None


@dataclass(frozen=True)
class ExplainedChange:
    """A batch that has changed the key, run again.

    Attributes:
        change: What the batch has changed, by its commit.
        steps: What its records did, in their order; those that were dropped too.
        end: What the store has of the key now, after all of them.
        not_run: Why it could not be run again; empty where it was.
        ranges: What it has read.
        seconds: How long it took to run it again.
    """

    change: KeyChange
    steps: tuple[ExplainedStep, ...] = ()
    end: Rows = ()
    not_run: str = ""
    ranges: tuple[ReadRange, ...] = ()
    seconds: float = 0.0

    @property
    def is_equal(self) -> bool:
        """Whether what came out is what was committed; else a processor is not deterministic."""
        return not self.not_run and self.end == self.change.after


@dataclass(frozen=True)
class Explanation:
    """Why a key has its value: one shape for the command line, the server and its pages.

    Attributes:
        app: Id of the app.
        rows: The key of the store.
        history: Which retained batches have changed it.
        explained: Those that were run again, the newest first.
    """

    app: str
    rows: KeyRows
    history: KeyHistory
    explained: tuple[ExplainedChange, ...]

    def to_json(self, *, skip: int = 0, limit: int | None = None) -> dict[str, object]:
        """Return plain data.

        Rows are lists of objects by the names of the kind's columns, as in
        `GET /v1/apps/A/stores/S/key`: `[{"value": 4585}]`; `[]` is no such key. The shape:
        `{app, store, key, query, task, retained: [first, last] or null, value: rows,
        history: [{batch, wall_ms, before, after}], newest first,
        explained: [{batch, wall_ms, before, after, equal: true, false or null, end: rows,
        not_run, seconds, ranges: [{topic, partition, from_offset, to_offset}], steps_total,
        steps: [{record: {topic, partition, offset, timestamp_ms, via} or null, node, key,
        value, before, after, dropped}]}]}`. `via` names the repartition edges, and `key` and
        `value` are the record's as it came to the node.

        Args:
            skip: How many steps of each batch are left out first.
            limit: How many steps of each batch there are at most; None: all.
        """
        shown = self.rows.to_json
        end = None if limit is None else skip + limit
        return {
            "app": self.app,
            "store": self.rows.spec.name,
            "key": exact(self.rows.key, self.rows.spec.key),
            "query": self.history.query,
            "task": str(self.history.task),
            "retained": None if self.history.retained is None else list(self.history.retained),
            "value": shown(self.history.last),
            "history": [self._change(each) for each in reversed(self.history.changes)],
            "explained": [
                {
                    **self._change(each.change),
                    "equal": None if each.not_run else each.is_equal,
                    "end": shown(each.end),
                    "not_run": each.not_run,
                    "seconds": round(each.seconds, 3),
                    "ranges": [found.to_json() for found in each.ranges],
                    "steps_total": len(each.steps),
                    "steps": [self._step(step) for step in each.steps[skip:end]],
                }
                for each in self.explained
            ],
        }

    def _change(self, change: KeyChange) -> dict[str, object]:
        shown = self.rows.to_json
        return {
            "batch": change.batch,
            "wall_ms": change.wall_ms,
            "before": shown(change.before),
            "after": shown(change.after),
        }

    def _step(self, found: ExplainedStep) -> dict[str, object]:
        step, shown = found.step, self.rows.to_json
        return {
            "record": None if found.origin is None else found.origin.to_json(),
            "node": step.node,
            "key": None if step.record is None else exact(step.record.key),
            "value": None if step.record is None else exact(step.record.value),
            "before": shown(step.before),
            "after": shown(step.after),
            "dropped": step.dropped,
        }


def explain_key(
    place: StorePlace,
    key: object,
    app: ReplayedApp | None = None,
    *,
    batch: int | None = None,
    every: bool = False,
    partitioner: Partitioner | None = None,
) -> Explanation:
    """Say why a key of a store has its value.

    Its history comes from the durable log; then batches run again, by the user's code, in this
    process: which record of which topic did what. Nothing is written anywhere.

    Args:
        place: The store, by the user's own definition where its serdes are the user's.
        key: The key.
        app: To run batches again; None: the history alone.
        batch: Explain this one alone, which has changed the key.
        every: Explain each retained batch that has changed the key, not the newest alone.
        partitioner: The rule by which the app's keys are routed, if it is not Kafka's.

    Raises:
        ReplayError: `batch` has not changed the key, or is not retained; or the batch would
            call outside.
        CheckpointMismatchError: The topology is not the one that the app has run last.
        SerializationError: The key is not what the store's serde writes.
        StateCorruptError: A version cannot be read.
    """
    rows = KeyRows(place.spec, key)
    history = history_of(place, rows, partitioner)
    chosen = _chosen(history, batch, every=every)
    explained: list[ExplainedChange] = []
    if app is not None and chosen:
        with app.query(place.query) as query:
            explained = [_explained(query, rows, history.task, change) for change in chosen]
    return Explanation(place.checkpoint.app, rows, history, tuple(explained))


def _chosen(history: KeyHistory, batch: int | None, *, every: bool) -> list[KeyChange]:
    """Return which changes are to be explained, the newest first."""
    newest = list(reversed(history.changes))
    if batch is None:
        return newest if every else newest[:1]
    found = [change for change in newest if change.batch == batch]
    if not found:
        known = ", ".join(str(change.batch) for change in newest) or "none that is retained"
        raise ReplayError(
            f"batch {batch} has not changed the key; these have: {known}",
            hint="App(retained_batches=...) keeps more batches.",
        )
    return found


def _explained(
    query: ReplayedQuery, rows: KeyRows, task: TaskId, change: KeyChange
) -> ExplainedChange:
    """Run the batch of a change again; say why where that cannot be."""
    begun = time.perf_counter()
    ranges: tuple[ReadRange, ...] = ()
    try:
        replay = BatchReplay(query, change.batch)
        ranges = _ranges(replay)
        watch = _watch(query, rows, task)
        replay.run([task], _views(watch))
        watch.settle()
        end = watch.last
        if end != change.after:
            end = _as_it_ran(replay, rows, task)
    except KStreamsError as exc:
        return ExplainedChange(change, not_run=why_not(exc), ranges=ranges)
    steps = [ExplainedStep(step, watch.edges.origin(step.row)) for step in watch.steps]
    if end != watch.last:
        steps.append(ExplainedStep(Step(None, "", None, watch.last, end), None))
    seconds = time.perf_counter() - begun
    return ExplainedChange(change, tuple(steps), end, ranges=ranges, seconds=seconds)


def _as_it_ran(replay: BatchReplay, rows: KeyRows, task: TaskId) -> Rows:
    """Return what the store has of the key after the batch, with nobody looking on.

    What goes by columns closes windows at the end of a batch; record by record it does so now
    and then, so that a window that is closed may still be there.
    """
    state = replay.run([task])[task]
    times = FixedTimes(state.meta.stream_time, replay.commit.wall_ms)
    return rows.stored(state.advanced(), times)


def _ranges(replay: BatchReplay) -> tuple[ReadRange, ...]:
    """Return what a batch has read, a range for each partition."""
    found: dict[tuple[str, int], ReadRange] = {}
    for slices in replay.plan.tasks.values():
        for each in slices:
            known = found.get(each.topic_partition)
            low = each.from_offset if known is None else min(known.from_offset, each.from_offset)
            high = each.to_offset if known is None else max(known.to_offset, each.to_offset)
            found[each.topic_partition] = ReadRange(each.topic, each.partition, low, high)
    return tuple(found[place] for place in sorted(found))


def _watch(query: ReplayedQuery, rows: KeyRows, task: TaskId) -> KeyWatch:
    group = next(each for each in query.settings.groups if each.name == task.group)
    store = rows.spec.name
    owners = frozenset(
        node.name for node in group.processors if any(spec.name == store for spec in node.stores)
    )
    return KeyWatch(
        task, Edges.between(query.settings.groups), rows, owners, TouchedKey(store, rows.key)
    )


def _views(watch: KeyWatch) -> Callable[[TaskId], TaskView]:
    """Return how each task is looked at: the key's own, and those that feed it."""

    def view(task: TaskId) -> TaskView:
        if task == watch.task:
            return TaskView(watch, watch.overlay)
        return TaskView(EdgeWatch(task, watch.edges))

    return view
