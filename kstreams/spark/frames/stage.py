"""What runs in the groups of a stateful operator: the tasks of one partition group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from kstreams.batch.edge_records import EdgeRecords
from kstreams.batch.envelope import DRIVER, Content, Envelope
from kstreams.batch.stage_settings import StageSettings
from kstreams.batch.task_call import TaskCall
from kstreams.batch.task_run import TaskResult, TaskRun
from kstreams.batch.task_settings import EdgeTarget, TaskSettings
from kstreams.batch.task_state import TaskState
from kstreams.batch.task_status import TaskStatus
from kstreams.batch.versioned_state import VersionedState
from kstreams.batch.worker_state import this_worker
from kstreams.errors import CompileError, KStreamsError
from kstreams.ids import TaskId
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.frames.bounded_state import BoundedState
from kstreams.spark.frames.cleaning import Cleaning
from kstreams.spark.frames.dropped import dropped_table
from kstreams.spark.frames.frame_io import FrameIO
from kstreams.spark.frames.layout import Layout
from kstreams.spark.frames.messages import Message
from kstreams.spark.frames.owner import Ownership
from kstreams.spark.frames.shipped import Carried, Shipped
from kstreams.spark.frames.source_order import source_queue
from kstreams.spark.frames.spark_batch import SparkBatch
from kstreams.spark.frames.task_record import TaskRecord
from kstreams.spark.pickling import pickled
from kstreams.spark.worker import shorten_collections
from kstreams.state.log.pointer import Pointer
from kstreams.task.queues import Queue

__all__ = ("Ran", "Stage")

_HINT = "fix the cause and restart the query: nothing of this batch was kept."


@dataclass(frozen=True)
class Ran:
    """What a task has done in a batch.

    Attributes:
        messages: What it gives out, and what it hands on.
        record: What Spark is to keep of it; None to leave what it has.
    """

    messages: tuple[Message, ...]
    record: TaskRecord | None = None


class Stage:
    """One stage of a pipeline, as it goes to workers: settings pickled once.

    Args:
        settings: Of the stage.
        layout: Where tasks lie.
        shipped: The user's modules.
        errors: The way of errors to the driver.
        streaming: Whether it runs batch after batch.
        timers: Whether Spark calls tasks at the times that they ask for.
        cleaning: When objects that no version names are removed.

    Raises:
        CompileError: Something in the settings does not pickle; names the node if it is one.
    """

    def __init__(
        self,
        settings: StageSettings,
        layout: Layout,
        shipped: Shipped,
        errors: ErrorChannel,
        *,
        streaming: bool = False,
        timers: bool = False,
        cleaning: Cleaning | None = None,
    ) -> None:
        self.number = settings.number
        self.layout = layout
        self.errors = errors
        self.timers = timers
        self._streaming = streaming
        self.cleaning = cleaning or Cleaning()
        self._carried: Carried[StageSettings] = Carried.of(pickled(settings), shipped)

    @property
    def size_bytes(self) -> int:
        """How large it is on its way to workers."""
        archive = self._carried.shipped.archive
        return len(self._carried.data) + (0 if archive is None else len(archive.data))

    def run(
        self,
        key: int,
        messages: Iterable[Message],
        record: TaskRecord | None,
        *,
        timer_ms: int | None = None,
    ) -> Ran:
        """Run the task of a group key for one batch.

        Of a bounded DataFrame there is one, with nothing kept, and windows are closed at its end.

        Args:
            key: The group key.
            messages: What has come for it.
            record: What Spark keeps of it; None before its first batch, and without a stream.
            timer_ms: The batch's wall time, if a timer has called.

        Raises:
            WorkerFailure: The task failed; holds the typed error.
        """
        try:
            batch = SparkBatch.required() if self._streaming else None
            return self._run(batch, key, messages, record, timer_ms)
        except BaseException as exc:  # noqa: BLE001  # all of it must reach the driver, typed
            raise self.errors.wrap(exc) from None

    def _run(
        self,
        batch: SparkBatch | None,
        key: int,
        messages: Iterable[Message],
        record: TaskRecord | None,
        timer_ms: int | None,
    ) -> Ran:
        run = _StageRun(self, self._settings(batch), batch)
        return run.run(key, messages, record, timer_ms)

    def _settings(self, batch: SparkBatch | None) -> StageSettings:
        """Return the settings, for the query's own state."""
        settings = self._carried.get()
        if batch is None:
            return settings
        known = self._carried.digest, batch.query
        if known not in _SETTINGS:
            scope = f"{settings.query.app.app_id}.{batch.query}"
            query = replace(settings.query, scope=scope, epoch=batch.query)
            _SETTINGS[known] = replace(settings, query=query)
        return _SETTINGS[known]


_SETTINGS: dict[tuple[str, str], StageSettings] = {}
"""By digest and query: whose state it is comes from Spark's checkpoint, as long as that lives."""


_OWNERSHIP = Ownership()


class _StageRun:
    """The tasks of a stage in one batch."""

    def __init__(self, stage: Stage, settings: StageSettings, batch: SparkBatch | None) -> None:
        self._stage = stage
        self._number = stage.number
        self._layout = stage.layout
        self._settings = settings
        self._batch = batch
        self._batch_number = 0 if batch is None else batch.number
        self._width = None if batch is None else batch.width

    def run(
        self,
        key: int,
        messages: Iterable[Message],
        record: TaskRecord | None,
        timer_ms: int | None,
    ) -> Ran:
        """Run a task; see `Stage.run`."""
        task = self._layout.task(key, width=self._width)
        given: list[Message] = []
        own: list[Content] = []
        wall_ms = timer_ms or 0
        for message in messages:
            envelope = Envelope.unpack(message.payload)
            wall_ms = max(wall_ms, message.wall_ms)
            if envelope.stage == self._number:
                own.append(envelope.content)
            else:
                given.append(message._replace(key=self._key(envelope)))
        if record is not None:
            self._layout.check(record.layout)
        called = any(isinstance(each, TaskCall) for each in own)
        records = [each for each in own if isinstance(each, EdgeRecords)]
        record = record or TaskRecord(self._layout.to_text())
        first = self._stage.timers and called and record.pointer is None
        if not (records or first or timer_ms is not None):
            return Ran(tuple(given), record if called else None)
        result, written = self._run_task(task, wall_ms, records, record.pointer)
        status = result.status
        if status.dropped:
            app_id = self._settings.query.app.app_id
            written.append(dropped_table(app_id, status, batch=self._batch_number, wall_ms=wall_ms))
        given += (self._message(each, wall_ms) for each in _outside(task, written))
        given += (
            self._message(Envelope(each.stage, each.task, part), wall_ms)
            for each in result.forwarded
            for part in EdgeRecords.of(each.queue)
        )
        if status.wall_due_ms is not None and self._batch is not None and not self._stage.timers:
            raise CompileError(
                f"group {self._settings.group.name!r} has wall-clock work: a punctuator, or a "
                "time of idleness",
                hint="Say timers=True, and start the query with a trigger of its own, "
                "trigger(processingTime='1 second'): Spark then runs batches without data, too.",
            )
        cleaned = self._clean(record, status, wall_ms)
        shorten_collections()
        kept = replace(record, pointer=status.pointer, cleaned=cleaned, due_ms=status.wall_due_ms)
        return Ran(tuple(given), kept)

    def _clean(self, record: TaskRecord, status: TaskStatus, wall_ms: int) -> int:
        """Remove what has long been unnamed, if that is due; return the batch that looked last."""
        batch, cleaning = self._batch, self._stage.cleaning
        if batch is None or not cleaning.is_due(batch.number, record.cleaned):
            return record.cleaned
        query = self._settings.query
        texts = [text for text in (record.pointer, status.pointer) if text is not None]
        cleaning.clean(
            this_worker().log(query.log),
            query.task_key(status.task),
            map(Pointer.from_json, texts),
            batch=batch.number,
            wall_ms=wall_ms,
        )
        return batch.number

    def _key(self, envelope: Envelope) -> int:
        return self._layout.following(
            envelope.stage, envelope.task, width=self._width, after=self._number
        )

    def _message(self, envelope: Envelope, wall_ms: int) -> Message:
        return Message(self._key(envelope), wall_ms, envelope.pack())

    def _run_task(
        self, task: int, wall_ms: int, records: Sequence[EdgeRecords], pointer: str | None
    ) -> tuple[TaskResult, list[tuple[str, pa.Table]]]:
        settings, number = self._settings, self._batch_number
        name = TaskId(settings.group.name, task)
        io = FrameIO()
        run = TaskRun(self._task_settings(name, io), self._state(name))
        sources = {node.name for node in settings.group.sources}
        queues = [
            *(
                source_queue(task, number, parts)
                for parts in _by_entry(each for each in records if each.entry in sources)
            ),
            *(each.queue() for each in records if each.entry not in sources),
        ]
        since_ms = self._owned_since(wall_ms)
        call = TaskCall((), wall_ms, since_ms, close_windows=self._batch is None, pointer=pointer)
        try:
            try:
                return run.run(call, (), queues, batch=number), io.written
            except KeyboardInterrupt as exc:
                raise run.interrupted(exc) or exc from exc
        except KStreamsError as exc:
            exc.hint = exc.hint or _HINT
            exc.at(group=name.group, partition=task)
            raise

    def _owned_since(self, wall_ms: int) -> int:
        """Make sure that the state is this query's; return since when the worker runs it."""
        batch, query = self._batch, self._settings.query
        if batch is None or not batch.run:
            return 0
        log = this_worker().log(query.log)
        return _OWNERSHIP.check(log, query.scope, batch.run, batch.number, wall_ms)

    def _state(self, task: TaskId) -> TaskState:
        settings = self._settings
        if self._batch is None:
            return BoundedState(settings.query.app.state, settings.group)
        return VersionedState(settings, task, this_worker())

    def _task_settings(self, task: TaskId, io: FrameIO) -> TaskSettings:
        settings, query = self._settings, self._settings.query
        return TaskSettings(
            settings.group,
            task.partition,
            io,
            producer=query.producer(task),
            edges={
                edge: EdgeTarget(stage, query.counts[stage])
                for edge, stage in settings.exits.items()
            },
            interceptors=query.app.interceptors,
            partitions=query.counts[settings.number],
        )


def _by_entry(records: Iterable[EdgeRecords]) -> Iterator[list[EdgeRecords]]:
    found: dict[str, list[EdgeRecords]] = {}
    for each in records:
        found.setdefault(each.entry, []).append(each)
    yield from found.values()


def _outside(task: int, written: Iterable[tuple[str, pa.Table]]) -> Iterator[Envelope]:
    """Yield what goes out of the query, a sink's output in messages that are not too large."""
    for sink, table in written:
        for part in EdgeRecords.of(Queue(sink, "", task, table)):
            yield Envelope(DRIVER, task, part)
