"""What runs in a Python worker: the tasks of one partition group, for one batch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from types import MappingProxyType
from typing import Any, cast

import pyarrow as pa
from pyspark import cloudpickle

from kstreams.errors import CompileError, KStreamsError, RecordRefusedError, Where
from kstreams.graph.topology import PartitionGroup
from kstreams.processors.interceptor import Interceptor
from kstreams.quoting import text_of
from kstreams.spark.envelope import DRIVER, Envelope
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.plans import Slice
from kstreams.spark.refusal import Refusal
from kstreams.spark.topic_io import TopicIO
from kstreams.spark.worker import add_archives, drop_spark_archives, freeze_heap, load_once
from kstreams.state.background import BackgroundUpkeep
from kstreams.state.durable import Attempt
from kstreams.state.local import open_local_home
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
from kstreams.task.rare_gc import rare_collections
from kstreams.task.routing import route
from kstreams.task.task import Task
from kstreams.task.too_many_bytes import TooManyBytesError

__all__ = ("Message", "Stage", "StageRun", "StageSettings", "TaskRun")

Message = tuple[int, bytes]
"""A Spark partition, and the payload of an envelope for a task in it."""

Cuts = Mapping[tuple[int, int], int]
"""`Plan.cuts`: by stage number and task, the revision by which it got less to read."""

_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_ROW_CACHE_BYTES = 64 * 1024 * 1024


_BESIDE = BackgroundUpkeep()
"""Merges deltas and makes snapshots of all tasks of this worker."""


@dataclass(frozen=True)
class StageSettings:
    """What all tasks of a stage are told by the driver.

    Attributes:
        number: The stage's number in its pipeline.
        app: Id of the app.
        incarnation: Id of this checkpoint's life; part of producer and record ids.
        scope: Name of the query's state in the durable log.
        group: The partition group.
        exits: By each edge that leaves the group, the stage that it leads to.
        counts: Number of tasks, by stage.
        width: Number of Spark partitions of each stage; task `t` is in partition `t % width`.
        backend: State backend.
        log: Where deltas and snapshots go.
        io: Reads source topics, and writes sink output.
        interceptors: Around processors.
        changelogs: By store, where the partitions of its changelog ended at the app's start.
        max_bytes: How many bytes of records a worker reads for one batch at most.
        upkeep: When deltas are merged and snapshots made.
    """

    number: int
    app: str
    incarnation: str
    scope: str
    group: PartitionGroup
    exits: Mapping[str, int]
    counts: tuple[int, ...]
    width: int
    backend: StateBackend
    log: ObjectStoreSettings
    io: TopicIO
    max_bytes: int
    interceptors: tuple[Interceptor, ...] = ()
    changelogs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    upkeep: Upkeep = field(default_factory=Upkeep)

    def task_key(self, group: str, partition: int) -> TaskKey:
        """Return the name of a task's state in the durable log."""
        return TaskKey(self.scope, group, partition)

    def changelog_ends(self, partition: int) -> dict[str, int]:
        """Return, by store of the group, where a task's partition of its changelog ended."""
        names = (spec.name for spec in self.group.stores)
        return {name: self.changelogs[name][partition] for name in names if name in self.changelogs}


class Stage:
    """What Spark runs on each of its partitions: settings pickled once, small beside data.

    Args:
        settings: Of the stage.
        archives: Names of the user's packages on executors.
        errors: The way of errors to the driver.
    """

    def __init__(
        self, settings: StageSettings, archives: tuple[str, ...], errors: ErrorChannel
    ) -> None:
        self._data = _pickled(settings)
        self._digest = hashlib.sha256(self._data).hexdigest()
        self._archives = archives
        self._errors = errors

    def in_batch(
        self, batch: int, cuts: Cuts = MappingProxyType({})
    ) -> Callable[[Iterable[Message]], Iterator[Message]]:
        """Return the function of `mapPartitions` that runs tasks for one batch.

        Args:
            batch: Number of the batch.
            cuts: Those of its plan.
        """
        return partial(self._run, batch, dict(cuts))

    def _run(self, batch: int, cuts: Cuts, messages: Iterable[Message]) -> Iterator[Message]:
        try:
            drop_spark_archives()
            add_archives(self._archives)
            settings: StageSettings = load_once(self._digest, self._data)
            with rare_collections():
                run = StageRun(settings, batch, cuts)
                yield from run.messages(payload for _, payload in messages)
            settings.io.read_ahead()
            freeze_heap()
        except GeneratorExit:  # Spark wants no more of it
            raise
        except BaseException as exc:  # noqa: BLE001  # all of it must reach the driver, typed
            raise self._errors.wrap(exc) from None


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
                    f"the node cannot be sent to executors: {text_of(cause)}",
                    hint="make what it holds (connections, locks, files) in the processor's init",
                    where=Where(group=settings.group.name, node=node.name),
                ) from cause
        raise CompileError(
            "the backend, the connection or an interceptor cannot be sent to executors: "
            f"{text_of(exc)}",
            hint="they are settings: they must pickle",
        ) from exc


def _dumps(item: object) -> bytes:
    data: bytes = cloudpickle.dumps(item)  # type: ignore[no-untyped-call]  # pyspark's
    return data


class StageRun:
    """The tasks of one stage on one Spark partition, in one batch.

    Args:
        settings: The stage's.
        batch: Number of the batch.
        cuts: Those of its plan.
    """

    def __init__(
        self, settings: StageSettings, batch: int, cuts: Cuts = MappingProxyType({})
    ) -> None:
        self._settings = settings
        self._batch = batch
        self._cuts = cuts

    def messages(self, payloads: Iterable[bytes]) -> Iterator[Message]:
        """Run the tasks that are addressed; yield what goes on to later stages."""
        tasks: dict[int, list[Envelope]] = {}
        refused = False
        for payload in payloads:
            envelope = Envelope.unpack(payload)
            refused = refused or envelope.kind == "refusal"
            if envelope.stage == self._settings.number:
                tasks.setdefault(envelope.task, []).append(envelope)
            else:
                yield self._addressed(envelope)
        if refused:
            return  # what came from the stage before is not all
        called = {t: own for t, own in tasks.items() if any(e.kind != "state" for e in own)}
        slices = {task: _slices(called[task]) for task in sorted(called)}
        try:
            read = self._settings.io.read(
                [each for own in slices.values() for each in own],
                max_bytes=self._settings.max_bytes,
            )
        except TooManyBytesError as exc:
            yield from self._refusals(list(slices), exc)
            return
        for task, own in slices.items():
            queues, read = read[: len(own)], read[len(own) :]
            for envelope in self._run_task(task, called.pop(task), queues):
                yield self._addressed(envelope)

    def _refusals(self, tasks: Sequence[int], exc: TooManyBytesError) -> Iterator[Message]:
        """Tell the driver which tasks were not run, and each partition of the next stage."""
        own = self._settings.number
        head = Refusal(tuple((own, task) for task in tasks), exc.sizes).to_json()
        yield self._addressed(Envelope("refusal", DRIVER, 0, head))
        if own + 1 < len(self._settings.counts):
            for partition in range(1, self._settings.width):
                empty = Refusal(()).to_json()
                yield self._addressed(Envelope("refusal", DRIVER, partition, empty))

    def _addressed(self, envelope: Envelope) -> Message:
        """Address a message to the next stage, whichever it is for."""
        return envelope.task % self._settings.width, envelope.pack()

    def _run_task(
        self, task: int, envelopes: list[Envelope], queues: list[Queue]
    ) -> Iterator[Envelope]:
        settings = self._settings
        try:
            run = TaskRun(settings, task, self._batch, self._revision(task))
            yield from run.run(envelopes, queues)
        except KStreamsError as exc:
            if isinstance(exc, RecordRefusedError):
                exc.message += _origin(queues)
            exc.hint = exc.hint or "mend the cause and restart: nothing of this batch was kept"
            exc.at(group=settings.group.name, partition=task)
            raise

    def _revision(self, task: int) -> int:
        """Return the revision of the plan by which a task's input is not what it was."""
        own = self._settings.number
        return max(
            (
                r
                for (stage, cut), r in self._cuts.items()
                if stage < own or (stage, cut) == (own, task)
            ),
            default=0,
        )


class TaskRun:
    """One task in one batch.

    Args:
        settings: Its stage's.
        task: Its partition.
        batch: Number of the batch.
        revision: Of the batch's plan, if its input is not what it was in the first one.
    """

    def __init__(self, settings: StageSettings, task: int, batch: int, revision: int = 0) -> None:
        self._settings = settings
        self._partition = task
        self._batch = batch
        self._revision = revision
        self._name = f"{settings.group.name}/{task}"

    def run(self, envelopes: Sequence[Envelope], queues: Sequence[Queue]) -> Iterator[Envelope]:
        """Run the task, and commit a version of its state; yield edges and status.

        Args:
            envelopes: What is addressed to it.
            queues: What was read for it.
        """
        settings, group = self._settings, self._settings.group
        wall_ms = max(e.header["wall"] for e in envelopes if "wall" in e.header)
        inputs = _joined([*queues, *(e.queue() for e in envelopes if e.kind == "queue")])
        key = settings.task_key(group.name, self._partition)
        log = CountedObjects(_opened(cast("Hashable", settings.log)))
        home = open_local_home(settings.backend, settings.app, settings.incarnation)
        versions = TaskVersions(
            settings.backend,
            home,
            log,
            key,
            [spec.name for spec in group.stores],
            upkeep=settings.upkeep,
            background=_BESIDE,
        )
        pointer, rows = _pointer(envelopes), _row_cache()
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
                limits=settings.io.limits,
                folder=home,
            )
            try:
                output = task.run(
                    inputs,
                    wall_ms=wall_ms,
                    idle_since_ms=max(e.header.get("since", 0) for e in envelopes),
                    close_windows=any(e.header.get("close") for e in envelopes),
                )
            except KeyboardInterrupt as exc:
                raise task.interrupted(exc) from exc
            task.close()
            changes = overlay.changes()
            output.changelogs = task.changelogs(changes)
            producer = f"{settings.incarnation}/{self._name}"
            staged = settings.io.write(
                output, group, producer=producer, batch=self._batch, revision=self._revision
            )
            committed = checkout.commit(changes, meta.to_json())
        rows.keep(key, committed.lineage, overlay)
        topics = {node.name for node in group.sources}
        status = {
            "task": self._name,
            "pointer": committed.to_json(),
            "records": output.records_in,
            "sources": sum(queue.table.num_rows for queue in inputs if queue.entry in topics),
            "sizes": _sizes(_slices(envelopes), queues),
            "dropped": output.dropped,
            "lines": output.lines,
            "due": output.next_wall_due,
            "outputs": staged,
            "log": log.take().to_json(),
        }
        yield from self._edges(output, wall_ms)
        yield Envelope("status", DRIVER, self._partition, status)

    def _edges(self, output: TaskOutput, wall_ms: int) -> Iterator[Envelope]:
        settings = self._settings
        for edge in settings.group.exits:
            table = output.edges.get(edge.name)
            if table is None:
                continue
            stage = settings.exits[edge.name]
            count = settings.counts[stage]
            for task, queue in route(edge, table, upstream=self._partition, partitions=count):
                for part in _messages(queue):
                    yield Envelope.of_queue(part, stage=stage, task=task, wall_ms=wall_ms)


@cache
def _row_cache() -> RowCache:
    """Return this worker's."""
    return RowCache(_ROW_CACHE_BYTES)


@lru_cache(maxsize=4)
def _opened(log: Any) -> ObjectStore:  # noqa: ANN401  # settings, hashable if frozen
    """Open the durable log of some `ObjectStoreSettings`, once a worker."""
    opened: ObjectStore = log.open()
    return opened


def _slices(envelopes: Sequence[Envelope]) -> list[Slice]:
    """Return what the calls among messages say that the task reads."""
    return [Slice.from_json(data) for e in envelopes for data in e.header.get("slices", ())]


def _sizes(slices: Sequence[Slice], queues: Sequence[Queue]) -> dict[str, tuple[int, int]]:
    """Return, by `topic/partition`, how many offsets were read, and the bytes there."""
    sizes: dict[str, tuple[int, int]] = {}
    for each, queue in zip(slices, queues, strict=True):
        offsets, size = sizes.get(each.place, (0, 0))
        sizes[each.place] = offsets + len(each), size + queue.table.nbytes
    return sizes


def _pointer(envelopes: Sequence[Envelope]) -> Pointer:
    """Return what was committed of the task last."""
    texts = [e.header["pointer"] for e in envelopes if e.kind == "state"]
    return Pointer.from_json(texts[0]) if texts else Pointer.empty()


def _origin(queues: Sequence[Queue]) -> str:
    """Say which records a batch's task has read: a result that is refused comes of one of them."""
    read = (
        f"{queue.position} from offset {ends[0].as_py()} to {ends[-1].as_py()}"
        for queue in queues
        if len(ends := queue.table.column("offset"))
    )
    found = ", ".join(read)
    return f"; the task had read {found}" if found else ""


def _messages(queue: Queue) -> Iterator[Queue]:
    """Cut a queue so that no message outgrows what a row of Spark's can hold."""
    table = queue.table
    count = max(1, -(-table.nbytes // _MAX_MESSAGE_BYTES))
    rows = -(-table.num_rows // count)
    for start in range(0, table.num_rows, rows):
        yield queue.with_table(table.slice(start, rows))


def _joined(queues: Sequence[Queue]) -> list[Queue]:
    """Return one queue a source partition or upstream task, its pieces in offset order."""
    parts: dict[tuple[str, str, int], list[Queue]] = {}
    for queue in queues:
        parts.setdefault((queue.entry, queue.topic, queue.partition), []).append(queue)
    return [pieces[0] if len(pieces) == 1 else _in_order(pieces) for pieces in parts.values()]


def _in_order(pieces: Sequence[Queue]) -> Queue:
    tables = sorted(
        (piece.table for piece in pieces if piece.table.num_rows),
        key=lambda table: table.column("offset")[0].as_py(),
    )
    return pieces[0].with_table(pa.concat_tables(tables)) if tables else pieces[0]
