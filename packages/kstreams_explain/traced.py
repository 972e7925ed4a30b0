"""The path of a record: its writes, the records derived from it, and drops with reasons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kstreams.errors import KStreamsError, ReplayError
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TaskId, TopicPartition
from kstreams.state.log.commits import SEED, Commit
from kstreams.state.log.pointer import Pointer
from kstreams.task.progress.task_meta import TaskMeta
from kstreams_admin.values import exact
from kstreams_explain.batch_replay import BatchReplay, TaskView, why_not
from kstreams_explain.origins import Edges, definitions
from kstreams_explain.record_watch import Followed, Place, RecordWatch, TracedStep
from kstreams_explain.replayed_app import ReplayedApp, ReplayedQuery

__all__ = ("Trace", "TracedBatch", "trace_record")


@dataclass(frozen=True)
class TracedBatch:
    """The path of a record through one query.

    Attributes:
        query: Name of the query.
        task: The task that read the record.
        batch: The batch that processed the record; None if no retained batch did.
        wall_ms: Time of the commit by the app's clock, ms since the epoch.
        steps: The steps in order, task by task. Empty if the record had no effect: it belongs to an
            aborted transaction, or a filter of the source dropped it.
        not_run: The reason why the path is not known; empty if it is.
    """

    query: str
    task: TaskId
    batch: int | None
    wall_ms: int | None = None
    steps: tuple[TracedStep, ...] = ()
    not_run: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the path as JSON data."""
        return {
            "query": self.query,
            "task": str(self.task),
            "batch": self.batch,
            "wall_ms": self.wall_ms,
            "not_run": self.not_run,
            "steps": [_step(step) for step in self.steps],
        }


@dataclass(frozen=True)
class Trace:
    """The path of a record, for the command line, the server and its pages.

    Attributes:
        app: The app id.
        place: Topic, partition and offset of the record.
        batches: The paths, one for each query and group that reads the topic.
    """

    app: str
    place: Place
    batches: tuple[TracedBatch, ...]

    def to_json(self) -> dict[str, object]:
        """Return the trace as JSON data.

        The shape: `{app, topic, partition, offset, batches: [{query, task, batch or null, wall_ms,
        not_run, steps: [{task, depth, node, defined_at, what: "entered", "wrote", "left" or
        "dropped", key, value, timestamp_ms, reason, store or null, before, after}]}]}`. `before`
        and `after` are rows as in `Explanation.to_json`, of `store` at the record's key.
        `defined_at` is the file and line that define the node, if known.
        """
        topic, partition, offset = self.place
        return {
            "app": self.app,
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "batches": [each.to_json() for each in self.batches],
        }


def trace_record(app: ReplayedApp, topic: str, partition: int, offset: int) -> Trace:
    """Trace the path of a record by a replay of the batch that processed it.

    All tasks of the query run in this process, with the user's code. Nothing is written.

    Args:
        app: The app.
        topic: A topic or log that the app reads.
        partition: Partition of the topic.
        offset: Offset of the record.

    Raises:
        ReplayError: The app does not read the topic, or its query would call an external service.
        CheckpointMismatchError: The topology is not the one that the app has run last.
        StateCorruptError: Committed data cannot be read.
    """
    place: Place = (topic, partition, offset)
    found = []
    for groups in app.topology.pipelines():
        readers = [g for g in groups if any(node.topic.name == topic for node in g.sources)]
        if not readers:
            continue
        with app.query(groups[0].name) as query:
            found += [_traced(query, group, place) for group in readers]
    if not found:
        known = ", ".join(sorted({repr(node.topic.name) for node in app.topology.sources}))
        raise ReplayError(
            f"app {app.checkpoint.app!r} does not read topic {topic!r}; its topics are {known}"
        )
    return Trace(app.checkpoint.app, place, tuple(found))


def _traced(query: ReplayedQuery, group: PartitionGroup, place: Place) -> TracedBatch:
    topic, partition, offset = place
    task = TaskId(group.name, partition)
    name = query.settings.name
    commits = list(_commits(query))
    positions = [_next(commit, task, TopicPartition(topic, partition)) for commit in commits]
    first = next((n for n, position in enumerate(positions) if position > offset), None)
    if first is None:
        at = f"up to offset {positions[-1]}" if positions else "nothing yet"
        return TracedBatch(name, task, None, not_run=f"it was not processed: {at} is committed")
    commit = commits[first]
    if (first == 0 and commit.after is not None) or commit.batch == SEED:
        return TracedBatch(
            name,
            task,
            None,
            not_run=f"a batch before {commits[0].batch + 1} has processed it, and is not "
            f"retained: App(retained_batches=...) retains more",
        )
    try:
        steps = _steps(query, commit.batch, place)
    except KStreamsError as exc:
        return TracedBatch(name, task, commit.batch, commit.wall_ms, not_run=why_not(exc))
    return TracedBatch(name, task, commit.batch, commit.wall_ms, steps)


def _commits(query: ReplayedQuery) -> Iterator[Commit]:
    commits = query.opened.commits
    return commits.of(commits.batches())


def _next(commit: Commit, task: TaskId, place: TopicPartition) -> int:
    """Return the first offset of a partition that a task has not processed at a commit."""
    text = commit.tasks.get(task)
    meta = TaskMeta() if text is None else TaskMeta.from_json(Pointer.from_json(text).meta)
    return meta.next_offsets.get(place, 0)


def _steps(query: ReplayedQuery, batch: int, place: Place) -> tuple[TracedStep, ...]:
    groups = query.settings.groups
    stores = {node.name: node.stores for group in groups for node in group.processors}
    followed = Followed(place, Edges.between(groups), definitions(groups))
    replay = BatchReplay(query, batch)
    tasks = [
        TaskId(group.name, number)
        for group, count in zip(groups, query.settings.counts, strict=True)
        for number in range(count)
    ]
    replay.run(tasks, lambda task: TaskView(RecordWatch(task, followed, stores)))
    return tuple(followed.steps)


def _step(step: TracedStep) -> dict[str, object]:
    record = step.record
    return {
        "task": str(step.task),
        "depth": step.depth,
        "node": step.node,
        "defined_at": step.defined_at,
        "what": step.what,
        "key": None if record is None else exact(record.key),
        "value": None if record is None else exact(record.value),
        "timestamp_ms": None if record is None else record.timestamp,
        "reason": step.reason,
        "store": None if step.store is None else step.store.spec.name,
        "before": [] if step.store is None else step.store.to_json(step.before),
        "after": [] if step.store is None else step.store.to_json(step.after),
    }
