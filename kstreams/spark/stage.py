"""What runs in a Python worker: the tasks of one partition group, for one batch."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, cast

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext, cloudpickle

from kstreams.errors import CompileError, KStreamsError, Where
from kstreams.graph.topology import PartitionGroup
from kstreams.processors.interceptor import Interceptor
from kstreams.spark.envelope import DRIVER, Envelope
from kstreams.spark.failure import as_failure
from kstreams.spark.sinks import SinkWriter
from kstreams.spark.worker import add_archives, drop_spark_archives, load_once
from kstreams.state.background import BackgroundSnapshots
from kstreams.state.durable import Attempt
from kstreams.state.local import local_home
from kstreams.state.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.overlay import Overlay
from kstreams.state.pointer import Pointer
from kstreams.state.row_cache import RowCache
from kstreams.state.task_key import TaskKey, new_attempt
from kstreams.state.traffic import CountedObjects
from kstreams.state.upkeep import Upkeep
from kstreams.state.versions import TaskVersions
from kstreams.state.working import StateBackend
from kstreams.task.meta import TaskMeta
from kstreams.task.outputs import TaskOutput
from kstreams.task.queues import Queue
from kstreams.task.routing import route
from kstreams.task.task import Task

if TYPE_CHECKING:
    from pyspark.sql.streaming.state import GroupState

__all__ = ("STATE_SCHEMA", "Committed", "Stage", "StageSettings")

STATE_SCHEMA = "batch long, pointer string"
"""Spark schema of a task's state: the batch that committed last, and its pointer."""

_BATCH_ID = "streaming.sql.batchId"
_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_ROW_CACHE_BYTES = 64 * 1024 * 1024


_SNAPSHOTS = BackgroundSnapshots()
"""Makes the snapshots of all tasks of this worker."""


@dataclass(frozen=True)
class Committed:
    """What the driver's log had as committed when the query was started.

    It wins over Spark's own state, which can be a batch behind it: a batch that Spark
    runs again although it is in the log does not reach user code a second time. So what
    was published stays the only truth, whatever user code would do now.

    Attributes:
        batch: Spark's id of the newest batch in the log.
        pointers: Pointer of every task, as JSON text, by `group/partition`.
    """

    batch: int
    pointers: Mapping[str, str]


@dataclass(frozen=True)
class StageSettings:
    """What all tasks of a stage are told by the driver.

    Attributes:
        number: The stage's number in its pipeline.
        app: Id of the app.
        incarnation: Id of this checkpoint's life; part of producer and record ids.
        scope: Name of the query's state in the durable log.
        group: The partition group.
        groups: All groups of the pipeline, by stage.
        counts: Number of tasks, by stage.
        keys: Spark keys of the tasks, by stage.
        backend: State backend.
        log: Where deltas and snapshots go.
        sinks: Writes sink output.
        interceptors: Around processors.
        archives: Names of the user's packages, as Spark unpacks them.
        committed: See there; None before the first commit.
        changelogs: By store, where the partitions of its changelog ended at the app's start.
        upkeep: When deltas are merged and snapshots made.
    """

    number: int
    app: str
    incarnation: str
    scope: str
    groups: tuple[PartitionGroup, ...]
    counts: tuple[int, ...]
    keys: tuple[tuple[int, ...], ...]
    backend: StateBackend
    log: ObjectStoreSettings
    sinks: SinkWriter
    interceptors: tuple[Interceptor, ...] = ()
    committed: Committed | None = None
    changelogs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    upkeep: Upkeep = field(default_factory=Upkeep)

    @property
    def group(self) -> PartitionGroup:
        """The partition group that the stage runs."""
        return self.groups[self.number]

    def task_key(self, group: str, partition: int) -> TaskKey:
        """Return the name of a task's state in the durable log."""
        return TaskKey(self.scope, group, partition)

    def changelog_ends(self, partition: int) -> dict[str, int]:
        """Return, by store of the group, where a task's partition of its changelog ended."""
        names = (spec.name for spec in self.group.stores)
        return {name: self.changelogs[name][partition] for name in names if name in self.changelogs}


class Stage:
    """The function that Spark calls for each task: small to pickle, settings inside once."""

    def __init__(self, settings: StageSettings, archives: tuple[str, ...]) -> None:
        self._data = _pickled(settings)
        self._digest = hashlib.sha256(self._data).hexdigest()
        self._archives = archives

    def __call__(
        self, key: tuple[Any, ...], frames: Iterable[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        """Run one task on the rows of one batch; yields rows of `ROW_SCHEMA`."""
        try:
            drop_spark_archives()
            add_archives(self._archives)
            settings: StageSettings = load_once(self._digest, self._data)
            payloads = [bytes(data) for frame in frames for data in frame["payload"]]
            run = _StageRun(settings, int(key[0]), state)
            yield run.frame([Envelope.unpack(data) for data in payloads])
        except Exception as exc:  # noqa: BLE001  # all of it must reach the driver, typed
            raise as_failure(exc) from None


def _pickled(settings: StageSettings) -> bytes:
    """Pickle settings, user code by value where it has no module of its own.

    Raises:
        CompileError: Something in them does not pickle; names the node if it is one.
    """
    try:
        return _dumps(settings)
    except Exception as exc:  # whatever an object of the user's raises
        for node in settings.group.nodes:
            try:
                _dumps(node)
            except Exception as cause:  # as above
                raise CompileError(
                    f"the node cannot be sent to executors: {cause}",
                    hint="make what it holds (connections, locks, files) in the processor's init",
                    where=Where(group=settings.group.name, node=node.name),
                ) from cause
        raise CompileError(
            f"the backend, the connection or an interceptor cannot be sent to executors: {exc}",
            hint="they are settings: they must pickle",
        ) from exc


def _dumps(item: object) -> bytes:
    data: bytes = cloudpickle.dumps(item)  # type: ignore[no-untyped-call]  # pyspark's
    return data


class _StageRun:
    """One task in one batch."""

    def __init__(self, settings: StageSettings, key: int, state: GroupState) -> None:
        self._settings = settings
        self._partition = settings.keys[settings.number].index(key)
        self._state = state
        context = TaskContext.get()
        batch = context.getLocalProperty(_BATCH_ID) if context is not None else None
        self._batch = int(batch) if batch is not None else -1
        self._name = f"{settings.group.name}/{self._partition}"

    def frame(self, envelopes: Sequence[Envelope]) -> pd.DataFrame:
        """Run, and return what goes on: messages for later stages, and a status."""
        settings = self._settings
        number = settings.number
        own = [e for e in envelopes if e.stage == number]
        rows = [self._row(e) for e in envelopes if e.stage != number]
        if own:
            rows.extend(self._row(e) for e in self._run(own))
        stages, keys, payloads = zip(*rows, strict=True) if rows else ((), (), ())
        return pd.DataFrame(
            {
                "stage": pd.array(stages, dtype="int32"),
                "key": pd.array(keys, dtype="int32"),
                "payload": list(payloads),
            }
        )

    def _row(self, envelope: Envelope) -> tuple[int, int, bytes]:
        """Address a message to the next stage, whichever it is for."""
        following = self._settings.number + 1
        if following == len(self._settings.keys):
            key = DRIVER
        else:
            keys = self._settings.keys[following]
            key = keys[envelope.task if envelope.stage == following else envelope.task % len(keys)]
        return envelope.stage, key, envelope.pack()

    def _run(self, envelopes: Sequence[Envelope]) -> list[Envelope]:
        plan = max((e.header["plan"] for e in envelopes if e.kind == "plan"), default=None)
        committed = self._settings.committed
        if committed is not None and self._batch <= committed.batch:
            return [self._status({"replayed": True, "plan": plan})]
        walls = [e.header["wall"] for e in envelopes if e.header.get("wall") is not None]
        wall_ms = max(walls) if walls else int(self._state.getCurrentProcessingTimeMs())
        try:
            return self._run_task(envelopes, wall_ms, plan)
        except KStreamsError as exc:
            exc.hint = exc.hint or "mend the cause and restart: nothing of this batch was kept"
            exc.at(group=self._settings.group.name, partition=self._partition)
            raise

    def _queues(self, envelopes: Sequence[Envelope]) -> list[Queue]:
        """Return the batch's queues, one a source partition or upstream task, in order."""
        read = self._settings.sinks.read_slice
        parts: dict[tuple[str, str, int], list[Queue]] = {}
        for envelope in envelopes:
            if envelope.kind == "queue":
                queues = [envelope.queue()]
            else:
                queues = [read(slice_) for slice_ in envelope.header["slices"]]
            for queue in queues:
                parts.setdefault((queue.entry, queue.topic, queue.partition), []).append(queue)
        return [_joined(queues) for queues in parts.values()]

    def _run_task(
        self, envelopes: Sequence[Envelope], wall_ms: int, plan: int | None
    ) -> list[Envelope]:
        settings, group = self._settings, self._settings.group
        queues = self._queues(envelopes)
        key = settings.task_key(group.name, self._partition)
        log = CountedObjects(_opened(cast("Hashable", settings.log)))
        versions = TaskVersions(
            settings.backend,
            local_home(settings.backend, settings.app, settings.incarnation),
            log,
            key,
            [spec.name for spec in group.stores],
            upkeep=settings.upkeep,
            background=_SNAPSHOTS,
        )
        pointer, rows = self._pointer(), _row_cache()
        with versions.checkout(pointer, Attempt(new_attempt(), self._batch)) as checkout:
            overlay = Overlay(checkout.store, rows.take(key, pointer.lineage))
            meta = TaskMeta.from_json(dict(pointer.meta))
            task = Task(
                group,
                self._partition,
                overlay,
                meta,
                wall_ms=wall_ms,
                interceptors=settings.interceptors,
                changelog_ends=settings.changelog_ends(self._partition),
            )
            output = task.run(
                queues,
                wall_ms=wall_ms,
                idle_since_ms=max(e.header.get("since", 0) for e in envelopes),
                close_windows=any(e.header.get("close") for e in envelopes),
            )
            task.close()
            changes = overlay.changes()
            output.changelogs = task.changelogs(changes)
            producer = f"{settings.incarnation}/{self._name}"
            staged = settings.sinks.write(output, group, producer=producer, batch=self._batch)
            committed = checkout.commit(changes, meta.to_json())
        rows.keep(key, committed.lineage, overlay)
        text = committed.to_json()
        self._state.update((self._batch, text))
        topics = {node.name for node in group.sources}
        read = sum(queue.table.num_rows for queue in queues if queue.entry in topics)
        status = {**_status(output, text, staged), "plan": plan, "sources": read}
        status["log"] = log.take().to_json()
        return [*self._edges(output, wall_ms), self._status(status)]

    def _pointer(self) -> Pointer:
        """Return what was committed last: by this query, or before it was started."""
        committed = self._settings.committed
        if self._state.exists:
            batch, text = self._state.get
            if committed is None or batch > committed.batch:
                return Pointer.from_json(text)
        known = None if committed is None else committed.pointers.get(self._name)
        return Pointer.empty() if known is None else Pointer.from_json(known)

    def _edges(self, output: TaskOutput, wall_ms: int) -> Iterator[Envelope]:
        for stage, group in enumerate(self._settings.groups):
            for entry in group.entries:
                table = output.edges.get(entry.name)
                if table is None:
                    continue
                count = self._settings.counts[stage]
                for task, queue in route(entry, table, upstream=self._partition, partitions=count):
                    for part in _messages(queue):
                        yield Envelope.of_queue(part, stage=stage, task=task, wall_ms=wall_ms)

    def _status(self, header: dict[str, Any]) -> Envelope:
        return Envelope("status", DRIVER, self._partition, {"task": self._name, **header})


@cache
def _row_cache() -> RowCache:
    """Return this worker's."""
    return RowCache(_ROW_CACHE_BYTES)


@lru_cache(maxsize=4)
def _opened(log: Any) -> ObjectStore:  # noqa: ANN401  # settings, hashable if frozen
    """Open the durable log of some `ObjectStoreSettings`, once a worker."""
    opened: ObjectStore = log.open()
    return opened


def _status(output: TaskOutput, pointer: str, staged: Sequence[Sequence[Any]]) -> dict[str, Any]:
    return {
        "pointer": pointer,
        "records": output.records_in,
        "dropped": output.dropped,
        "lines": output.lines,
        "due": output.next_wall_due,
        "outputs": staged,
    }


def _messages(queue: Queue) -> Iterator[Queue]:
    """Cut a queue so that no message outgrows what a row of Spark's can hold."""
    table = queue.table
    count = max(1, -(-table.nbytes // _MAX_MESSAGE_BYTES))
    rows = -(-table.num_rows // count)
    for start in range(0, table.num_rows, rows):
        part = table.slice(start, rows)
        yield Queue(queue.entry, queue.topic, queue.partition, part)


def _joined(queues: list[Queue]) -> Queue:
    """Join pieces of one source partition in offset order."""
    if len(queues) == 1:
        return queues[0]
    first = queues[0]
    tables = sorted(
        (q.table for q in queues if q.table.num_rows), key=lambda t: t.column("offset")[0].as_py()
    )
    table = pa.concat_tables(tables) if tables else first.table
    return Queue(first.entry, first.topic, first.partition, table)
