"""Runs one batch of a task on DataFrames: opens its state, runs it, updates its `TaskRecord`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from kstreams.batch.messages.edge_records import EdgeRecords
from kstreams.batch.messages.task_call import TaskCall
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.batch.worker.stage_settings import StageSettings
from kstreams.batch.worker.task_run import Forwarded, TaskRun
from kstreams.batch.worker.task_settings import TaskSettings
from kstreams.batch.worker.task_state import TaskState
from kstreams.batch.worker.versioned_state import VersionedState
from kstreams.batch.worker.worker_state import this_worker
from kstreams.errors import CompileError, KStreamsError
from kstreams.ids import TaskId
from kstreams.spark.frames.bounded_state import BoundedState
from kstreams.spark.frames.cleaning import Cleaning
from kstreams.spark.frames.dropped import dropped_table
from kstreams.spark.frames.frame_io import FrameIO
from kstreams.spark.frames.inherited import Inherited
from kstreams.spark.frames.layout import Layout
from kstreams.spark.frames.owner import Ownership, begin_state
from kstreams.spark.frames.shipped import Carried
from kstreams.spark.frames.source_order import source_queue
from kstreams.spark.frames.task_record import TaskRecord
from kstreams.spark.frames.unfit_rows import UNFIT, set_aside
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.totals import summed
from kstreams.task.records.queues import Queue

__all__ = ("FrameTask", "StageRules", "TaskRan")

_HINT = "fix the cause and restart the query: nothing of this batch was kept."
_OWNERSHIP = Ownership()


@dataclass(frozen=True)
class StageRules:
    """The rules for the tasks of a stage.

    Attributes:
        number: The number of the stage.
        layout: The layout of the tasks.
        start: The id of the query's start; None for a bounded DataFrame, whose tasks run once and
            keep no state.
        timers: Whether Spark calls tasks at the times that they request.
        cleaning: The policy for the removal of objects that no version references.
        fork: The initial state of a task that is not in the checkpoint; None: tasks begin empty.
    """

    number: int
    layout: Layout
    start: str | None
    timers: bool
    cleaning: Cleaning
    fork: Carried[Inherited] | None = None


@dataclass(frozen=True)
class TaskRan:
    """The result of a task in a batch.

    Attributes:
        record: The new task record.
        written: The output: a sink's name, and a table of `kstreams.raw_batch.OUTPUT_SCHEMA`.
        forwarded: The messages to later stages.
    """

    record: TaskRecord
    written: Sequence[tuple[str, pa.Table]]
    forwarded: Iterable[Forwarded]


class FrameTask:
    """Runs one batch of a task.

    Args:
        settings: The settings of the stage; the `state_name` of their query is replaced by that of
            the task record.
        rules: The rules of the stage.
        task: The group and the number of the task.
        record: The task record in Spark's state; None before the first batch.
        wall_ms: The wall time of the batch, ms since the epoch.

    Raises:
        CheckpointMismatchError: The checkpoint was created with another layout.
        FencedError: Another checkpoint owns the state.
        KStreamsError: As for `Inherited.begin`.
    """

    def __init__(
        self,
        settings: StageSettings,
        rules: StageRules,
        task: TaskId,
        record: TaskRecord | None,
        wall_ms: int,
    ) -> None:
        self._rules = rules
        self._task = task
        self._wall_ms = wall_ms
        state_name = f"{rules.layout.app}.{rules.start}" if record is None else record.state_name
        query = replace(settings.query, state_name=state_name, epoch=state_name)
        self._settings = replace(settings, query=query)
        if record is None:
            record = self._begun()
        else:
            rules.layout.check(record.layout)
            record = replace(record, layout=rules.layout.to_text())
        self.record = record

    def _begun(self) -> TaskRecord:
        """Return the record of a task that the checkpoint does not have yet."""
        query, fork = self._settings.query, self._rules.fork
        record = TaskRecord(self._rules.layout.to_text(), self._task.group, query.state_name)
        if not self._streams:
            return record
        key = query.task_key(self._task)
        begin_state(self._log, key, self._wall_ms)
        if fork is None:
            return record
        return replace(record, pointer=fork.get().begin(self._task, key, self._log))

    @property
    def _streams(self) -> bool:
        return self._rules.start is not None

    @cached_property
    def _log(self) -> ObjectStore:
        return this_worker().log(self._settings.query.log)

    def run(self, records: Sequence[EdgeRecords]) -> TaskRan:
        """Run the batch.

        Args:
            records: The input of the task.

        Raises:
            CompileError: The task has wall-clock work, and Spark does not call it.
            FencedError: Another query has taken over the state.
            KStreamsError: As for `TaskRun.run`.
        """
        before, number = self.record, self.record.batch + 1
        io = FrameIO()
        call = TaskCall(
            (),
            self._wall_ms,
            self._owned_since(),
            close_windows=not self._streams,
            pointer=before.pointer,
        )
        run = TaskRun(self._task_settings(io), self._state)
        fit, unfit = _divided(records)
        try:
            try:
                result = run.run(call, (), list(self._queues(fit, number)), batch=number)
            except KeyboardInterrupt as exc:
                raise run.interrupted(exc) or exc from exc
        except KStreamsError as exc:
            exc.hint = exc.hint or _HINT
            exc.at(group=self._task.group, partition=self._task.partition)
            raise
        status = result.status
        if unfit:
            sources, task = self._settings.group.sources, self._task.partition
            counts, letters = set_aside(unfit, sources, task, self._wall_ms)
            io.written += letters
            status = replace(status, counts=summed([status.counts, counts]))
        self._check_timers(status)
        record = replace(
            before,
            batch=number,
            wall_ms=self._wall_ms,
            pointer=status.pointer,
            due_ms=status.wall_due_ms,
        )
        written = [*io.written, *self._dropped(status, number)]
        return TaskRan(self._cleaned(before, record), written, result.forwarded)

    def _queues(self, records: Sequence[EdgeRecords], number: int) -> Iterator[Queue]:
        sources = {node.name for node in self._settings.group.sources}
        by_entry: dict[str, list[EdgeRecords]] = {}
        for each in records:
            by_entry.setdefault(each.entry, []).append(each)
        for entry, parts in by_entry.items():
            if entry in sources:
                yield source_queue(self._task.partition, number, parts)
            else:
                yield from (each.queue() for each in parts)

    def _owned_since(self) -> int:
        """Check that no other query has taken over the state.

        Returns:
            The wall time of the first batch of the query that this worker ran, ms since the epoch;
            0 for a bounded DataFrame, whose state has no owner.
        """
        start = self._rules.start
        if start is None:
            return 0
        return _OWNERSHIP.check(self._log, self.record.state_name, start, self._wall_ms)

    def _check_timers(self, status: TaskStatus) -> None:
        if status.wall_due_ms is not None and self._streams and not self._rules.timers:
            raise CompileError(
                f"group {self._task.group!r} has a wall-clock punctuator or a timeout of idle "
                "partitions, which need timers=True",
                hint="Pass timers=True, and start the query with its own trigger, "
                "trigger(processingTime='1 second'): Spark then also runs batches without data.",
            )

    def _dropped(self, status: TaskStatus, number: int) -> Iterator[tuple[str, pa.Table]]:
        if status.dropped:
            app = self._rules.layout.app
            yield dropped_table(app, status, batch=number, wall_ms=self._wall_ms)

    def _cleaned(self, before: TaskRecord, after: TaskRecord) -> TaskRecord:
        """Remove unused objects from the durable log, if it is time; return the updated record.

        The pointers of both records stay readable.

        Args:
            before: The task record before the batch.
            after: The task record after the batch.
        """
        cleaning = self._rules.cleaning
        if not self._streams or not cleaning.is_due(after.batch, before.cleaned):
            return after
        texts = [text for text in (before.pointer, after.pointer) if text is not None]
        cleaning.clean(
            self._log,
            self._settings.query.task_key(self._task),
            map(Pointer.from_json, texts),
            batch=after.batch,
            wall_ms=self._wall_ms,
        )
        return replace(after, cleaned=after.batch)

    @property
    def _state(self) -> TaskState:
        settings = self._settings
        if not self._streams:
            return BoundedState(settings.query.app.state, settings.group)
        return VersionedState(settings, self._task, this_worker())

    def _task_settings(self, io: FrameIO) -> TaskSettings:
        settings, query = self._settings, self._settings.query
        return TaskSettings(
            settings.group,
            self._task.partition,
            io,
            producer=query.producer(self._task),
            edges=query.edges(settings.exits),
            interceptors=query.app.interceptors,
            partitions=query.uneven.inputs_of(settings.group, query.counts[settings.number]),
        )


def _divided(parts: Sequence[EdgeRecords]) -> tuple[list[EdgeRecords], list[EdgeRecords]]:
    """Return the encoded records, and the rows that could not be encoded."""
    fit: list[EdgeRecords] = []
    unfit: list[EdgeRecords] = []
    for part in parts:
        with pa.ipc.open_stream(part.body) as reader:
            (unfit if UNFIT in reader.schema.names else fit).append(part)
    return fit, unfit
