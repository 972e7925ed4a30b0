"""Explain why a key has its value: the batches and records that changed the key."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from kstreams.checkpoint.savepoint.store_place import StorePlace
from kstreams.errors import KStreamsError, ReplayError
from kstreams.ids import TaskId
from kstreams.partitioner import Partitioner
from kstreams.state.cache.times import FixedTimes
from kstreams_admin.values import exact
from kstreams_explain.batch_replay import BatchReplay, TaskView, why_not
from kstreams_explain.history import KeyChange, KeyHistory, history_of
from kstreams_explain.key_rows import KeyRows, Rows
from kstreams_explain.key_watch import KeyWatch, Step, TouchedKey
from kstreams_explain.origins import Edges, EdgeWatch, Origin, definitions
from kstreams_explain.replayed_app import ReplayedApp, ReplayedQuery

__all__ = ("ExplainedChange", "ExplainedStep", "Explanation", "ReadRange", "explain_key")


@dataclass(frozen=True)
class ReadRange:
    """A range of offsets that a batch has read: `from_offset <= offset < to_offset`."""

    topic: str
    partition: int
    from_offset: int
    to_offset: int

    def to_json(self) -> dict[str, object]:
        """Return `{topic, partition, from_offset, to_offset}`."""
        return {**vars(self)}


@dataclass(frozen=True)
class ExplainedStep:
    """The effect of one record on the key.

    Attributes:
        step: The node, the record that the node received, and the rows before and after.
        origin: The topic record that caused the step; None if the cause is a timer or a
            `BatchProcessor`.
        defined_at: The file and line that define the node; empty if not known.
    """

    step: Step
    origin: Origin | None
    defined_at: str = ""


@dataclass(frozen=True)
class ExplainedChange:
    """A replayed batch that changed the key.

    Attributes:
        change: The change of the batch, from its commit.
        steps: The effects of the batch's records on the key in order, dropped records included.
        end: The rows of the key after the replay.
        not_run: The reason why the replay was not possible; empty if it was.
        ranges: The offset ranges that the batch read.
        seconds: Duration of the replay, s.
    """

    change: KeyChange
    steps: tuple[ExplainedStep, ...] = ()
    end: Rows = ()
    not_run: str = ""
    ranges: tuple[ReadRange, ...] = ()
    seconds: float = 0.0

    @property
    def is_equal(self) -> bool:
        """Whether the replay gave the committed rows; if not, a processor is not deterministic."""
        return not self.not_run and self.end == self.change.after


@dataclass(frozen=True)
class Explanation:
    """The explanation of a key's value, for the command line, the server and its pages.

    Attributes:
        app: The app id.
        rows: The key and its store.
        history: The retained batches that changed the key.
        explained: The replayed batches, newest first.
    """

    app: str
    rows: KeyRows
    history: KeyHistory
    explained: tuple[ExplainedChange, ...]

    def to_json(self, *, skip: int = 0, limit: int | None = None) -> dict[str, object]:
        """Return the explanation as JSON data.

        Rows are lists of objects by the names of the kind's columns, as in
        `GET /v1/apps/A/stores/S/key`: `[{"value": 4585}]`; `[]` means that the key does not exist.

        The shape: `{app, store, key, query, task, retained: [first, last] or null, value: rows,
        history: [{batch, wall_ms, before, after}], newest first,
        explained: [{batch, wall_ms, before, after, equal: true, false or null, end: rows,
        not_run, seconds, ranges: [{topic, partition, from_offset, to_offset}], steps_total,
        steps: [{record: {topic, partition, offset, timestamp_ms, via} or null, node, defined_at,
        key, value, before, after, dropped}]}]}`. `via` names the repartition edges; `key` and
        `value` are those of the record that the node received; `defined_at` is the file and line
        that define the node, if known.

        Args:
            skip: Number of steps of each batch to leave out first.
            limit: Maximum number of steps of each batch; None for all.
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
            "defined_at": found.defined_at,
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
    """Explain why a key of a store has its value.

    The history comes from the durable log. Then batches are replayed in this process, with the
    user's code, to find the topic record that caused each change. Nothing is written.

    Args:
        place: The store, with the user's own definition if its serdes are the user's.
        key: The key.
        app: The app whose batches are replayed; None returns only the history.
        batch: Explain this batch only; it must have changed the key.
        every: Explain each retained batch that changed the key, not only the newest.
        partitioner: The partitioner of the app's keys, if it is not Kafka's default.

    Raises:
        ReplayError: `batch` did not change the key or is not retained, or a replay would call
            an external service.
        CheckpointMismatchError: The topology is not the one that the app has run last.
        SerializationError: The key does not fit the store's serde.
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
    """Return the change of `batch`; without a batch, the last change, or with `every` all changes.

    The newest change is first.

    Raises:
        ReplayError: `batch` did not change the key or is not retained.
    """
    newest = list(reversed(history.changes))
    if batch is None:
        return newest if every else newest[:1]
    found = [change for change in newest if change.batch == batch]
    if not found:
        known = ", ".join(str(change.batch) for change in newest) or "none"
        raise ReplayError(
            f"batch {batch} has not changed the key; retained batches that have changed the key: "
            f"{known}",
            hint="App(retained_batches=...) retains more batches.",
        )
    return found


def _explained(
    query: ReplayedQuery, rows: KeyRows, task: TaskId, change: KeyChange
) -> ExplainedChange:
    """Replay the batch of a change; if that is not possible, the result has the reason."""
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
    places = definitions(query.settings.groups)
    steps = [
        ExplainedStep(step, watch.edges.origin(step.row), places.get(step.node, ""))
        for step in watch.steps
    ]
    if end != watch.last:
        steps.append(ExplainedStep(Step(None, "", None, watch.last, end), None))
    seconds = time.perf_counter() - begun
    return ExplainedChange(change, tuple(steps), end, ranges=ranges, seconds=seconds)


def _as_it_ran(replay: BatchReplay, rows: KeyRows, task: TaskId) -> Rows:
    """Replay the batch without `KeyWatch`, and return the rows of the key after the batch.

    With `KeyWatch`, nodes run by records, and windows close during the batch. By columns, windows
    close at its end. So only one of the two replays may still have rows of a closed window.
    """
    state = replay.run([task])[task]
    times = FixedTimes(state.meta.stream_time, replay.commit.wall_ms)
    return rows.stored(state.advanced(), times)


def _ranges(replay: BatchReplay) -> tuple[ReadRange, ...]:
    """Return the offset ranges that a batch read, one for each partition."""
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
    """Return a function from a task to its `TaskView`; `watch` observes the task of the key."""

    def view(task: TaskId) -> TaskView:
        if task == watch.task:
            return TaskView(watch, watch.overlay)
        return TaskView(EdgeWatch(task, watch.edges))

    return view
