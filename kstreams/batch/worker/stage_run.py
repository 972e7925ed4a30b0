"""Runs the tasks of one stage of a batch in a worker, from messages to messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from kstreams.batch.io.sink_writers import sinks_of
from kstreams.batch.messages.edge_records import EdgeRecords
from kstreams.batch.messages.envelope import DRIVER, Content, Envelope
from kstreams.batch.messages.oversized_batch import Refusal, merged_counts
from kstreams.batch.messages.task_call import TaskCall
from kstreams.batch.messages.task_numbers import worker_name
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.batch.messages.worker_times import READ, WRITE
from kstreams.batch.worker.stage_settings import StageSettings
from kstreams.batch.worker.task_run import Forwarded, TaskResult, TaskRun
from kstreams.batch.worker.task_settings import TaskSettings
from kstreams.batch.worker.versioned_state import VersionedState
from kstreams.batch.worker.worker_state import WorkerState
from kstreams.clock import SystemClock
from kstreams.errors import ExecutionError, KStreamsError, RecordRefusedError
from kstreams.global_tables.versions import Versions
from kstreams.ids import TaskId
from kstreams.raw_batch import TooManyBytesError
from kstreams.state.backend.task_key import packs_prefix, table_copies
from kstreams.state.log.pack_reads import PackCache
from kstreams.state.log.packs import Packs
from kstreams.state.stores.table_access import TableAccess
from kstreams.state.versions.local import open_local_home
from kstreams.task.records.queues import Queue
from kstreams.task.task_limits import Exceeded

__all__ = ("Cuts", "Message", "StageRun")

Message = tuple[int, bytes]
"""The number of a partition of the receiving stage, and the payload of an envelope for it."""

Cuts = Mapping[tuple[int, int], int]
"""`Plan.cuts`: the plan revision that made the input of a task smaller, by stage and task."""


@dataclass
class _Inbox:
    """The messages to one task in a batch: its calls, and the records from earlier stages."""

    calls: list[TaskCall] = field(default_factory=list)
    records: list[EdgeRecords] = field(default_factory=list)

    def add(self, content: Content) -> None:
        match content:
            case TaskCall():
                self.calls.append(content)
            case EdgeRecords():
                self.records.append(content)
            case _:
                raise ExecutionError(
                    f"a task received a {type(content).__name__}, not a TaskCall or EdgeRecords"
                )

    @property
    def is_called(self) -> bool:
        return bool(self.records) or any(call.required for call in self.calls)


class StageRun:
    """The tasks of one stage on one worker, in one batch.

    Args:
        settings: The settings of the stage.
        worker: The state of the worker.
        batch: The number of the batch.
        cuts: By stage and task, the revision of the batch's plan that changed the task's input.
        versions: The versions of global tables in the batch's plan.
        attempt: The number of attempts at the batch, including this one.
        on_task: Called with the partition of each task before the task runs.
    """

    def __init__(
        self,
        settings: StageSettings,
        worker: WorkerState,
        batch: int,
        cuts: Cuts = MappingProxyType({}),
        versions: Versions = MappingProxyType({}),
        attempt: int = 1,
        on_task: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._query = query = settings.query
        self._worker = worker
        self._batch = batch
        self._cuts = cuts
        self._versions = versions
        self._attempt = attempt
        self._on_task = on_task
        self._tables: dict[str, TableAccess] = {}
        log, prefix = worker.log(query.log), packs_prefix(query.state_name, query.epoch)
        self._packs = Packs(log, prefix, batch)
        self._pack_cache = PackCache()  # of one batch: a restored object is read again

    def messages(self, payloads: Iterable[bytes]) -> Iterator[Message]:
        """Run the tasks that messages address; yield the messages to later stages.

        Messages for later stages and for the driver pass through.

        Raises:
            ExecutionError: A message is damaged.
            KStreamsError: A task failed; the error names its group and partition.
        """
        own: list[Envelope] = []
        refused = False
        for payload in payloads:
            envelope = Envelope.unpack(payload)
            refused = refused or isinstance(envelope.content, Refusal)
            if envelope.stage == self._settings.number:
                own.append(envelope)
            else:
                yield envelope.task % self._query.width, payload
        if refused:
            return  # the input of the previous stage is incomplete
        for envelope in self.run(own):
            yield envelope.task % self._query.width, envelope.pack()

    def run(self, envelopes: Iterable[Envelope]) -> Iterator[Envelope]:
        """Run the tasks of calls and records; yield records for later stages, and the results.

        If a task refuses its input, the results have a `Refusal`, and no later stage may run.

        Args:
            envelopes: The calls of this stage, and all records for its tasks.

        Raises:
            KStreamsError: A task failed; the error names its group and partition.
        """
        self._reopen_sinks()
        inboxes: dict[int, _Inbox] = {}
        for envelope in envelopes:
            inboxes.setdefault(envelope.task, _Inbox()).add(envelope.content)
        tasks = {task: inboxes[task] for task in sorted(inboxes) if inboxes[task].is_called}
        calls = {task: self._call(task, inbox) for task, inbox in tasks.items()}
        began, began_ms = time.perf_counter(), SystemClock().now_ms()
        try:
            read = self._query.io.read(
                [each for call in calls.values() for each in call.slices],
                max_bytes=self._query.app.max_bytes_per_batch,
            )
        except TooManyBytesError as exc:
            yield from self._refusals(list(calls), exc)
            return
        seconds = (time.perf_counter() - began) / max(sum(q.table.num_rows for q in read), 1)
        self._tables = self._open_tables() if calls else {}
        done: dict[int, TaskResult] = {}
        arrived: dict[int, Mapping[str, int]] = {}
        for task, call in calls.items():
            queues, read = read[: len(call.slices)], read[len(call.slices) :]
            self._on_task(task)
            try:
                yield from self._run_task(task, call, queues, tasks.pop(task).records, done)
            except Exceeded as exc:
                arrived[task] = exc.arrived
                continue
            done[task].busy.add(READ, seconds * sum(queue.table.num_rows for queue in queues))
        if arrived:
            yield from self._refused(Refusal((), arrived=merged_counts(arrived.items())))
        for task, result in done.items():  # small deltas are written together now
            with self._placed(task):
                status = self._with_numbers(result.status, began_ms)
                yield Envelope(DRIVER, task, status)

    def _reopen_sinks(self) -> None:
        """After a failed attempt, open new writers of sinks, which delete its staged results."""
        if self._attempt > 1:
            for name in sinks_of(self._settings.group):
                self._worker.writers.drop(self._query.commit_epoch, name)

    def _with_numbers(self, status: TaskStatus, began_ms: int) -> TaskStatus:
        """Return a status with the worker, the attempt and the start time of the task."""
        numbers = replace(
            status.numbers, worker=worker_name(), attempt=self._attempt, began_ms=began_ms
        )
        return replace(status, numbers=numbers)

    def _call(self, task: int, inbox: _Inbox) -> TaskCall:
        if len(inbox.calls) != 1:
            name = TaskId(self._settings.group.name, task)
            raise ExecutionError(
                f"task {name} received {len(inbox.calls)} calls in a batch, expected one"
            )
        return inbox.calls[0]

    def _open_tables(self) -> dict[str, TableAccess]:
        """Open the global tables that the group reads, at the versions of the batch's plan."""
        query, app = self._query, self._query.app

        def home() -> Path:
            own = open_local_home(app.state, app.app_id, query.checkpoint_id)
            return own / table_copies(app.app_id, query.checkpoint_id)

        return {
            spec.name: self._worker.tables.open(
                spec,
                self._versions[spec.name],
                backend=app.state,
                home=home,
                reader=query.state_name,
            )
            for spec in self._settings.group.global_stores
        }

    def _refusals(self, tasks: Sequence[int], exc: TooManyBytesError) -> Iterator[Envelope]:
        """Yield messages with the tasks that did not run.

        On Spark, each partition of the next stage gets one of the messages, does not run its tasks,
        and passes the message on to the driver.
        """
        own = self._settings.number
        yield from self._refused(Refusal(tuple((own, task) for task in tasks), exc.sizes))

    def _refused(self, refusal: Refusal) -> Iterator[Envelope]:
        own = self._settings.number
        yield Envelope(DRIVER, 0, refusal)
        if own + 1 < len(self._query.counts):
            for partition in range(1, self._query.width):
                yield Envelope(DRIVER, partition, Refusal(()))

    def _run_task(
        self,
        task: int,
        call: TaskCall,
        queues: list[Queue],
        records: Sequence[EdgeRecords],
        done: dict[int, TaskResult],
    ) -> Iterator[Envelope]:
        """Run a task; yield its messages to later stages, and add its result to `done`.

        Args:
            task: The partition of the task.
            call: The call of the driver.
            queues: The records that were read from topics, one queue for each slice of the call.
            records: The records from tasks of earlier stages.
            done: The results of the tasks that have run, by partition.
        """
        settings = self._settings
        name = TaskId(settings.group.name, task)
        run = self.task_run(name, self._task_settings(task))
        with self._placed(task, queues):
            try:
                result = run.run(
                    call,
                    queues,
                    [each.queue() for each in records],
                    batch=self._batch,
                    revision=self._revision(task),
                )
            except KeyboardInterrupt as exc:
                raise run.interrupted(exc) or exc from exc
            yield from result.busy.each(WRITE, _envelopes(result.forwarded))
        done[task] = result

    def task_run(self, task: TaskId, settings: TaskSettings) -> TaskRun:
        """Return an object that runs a task, with its state as versions in the durable log."""
        shared = self._packs, self._pack_cache
        return TaskRun(settings, VersionedState(self._settings, task, self._worker, *shared))

    @contextmanager
    def _placed(self, task: int, queues: Sequence[Queue] = ()) -> Iterator[None]:
        """Add the group and partition of a task to its errors.

        The error of a rejected result also gets the offset ranges that the task has read, `queues`.
        """
        try:
            yield
        except KStreamsError as exc:
            if isinstance(exc, RecordRefusedError):
                exc.message += _origin(queues)
            exc.hint = exc.hint or "fix the cause and restart: nothing of this batch was kept."
            exc.at(group=self._settings.group.name, partition=task)
            raise

    def _task_settings(self, task: int) -> TaskSettings:
        settings, query = self._settings, self._query
        return TaskSettings(
            settings.group,
            task,
            query.io,
            producer=query.producer(TaskId(settings.group.name, task)),
            edges=query.edges(settings.exits),
            interceptors=query.app.interceptors,
            changelog_ends=settings.changelog_ends(task),
            changelog_ids=settings.changelog_ids(),
            partitions=query.uneven.inputs_of(settings.group, query.counts[settings.number]),
            tables=self._tables,
            epoch=query.commit_epoch,
            fingerprint=query.fingerprint,
            writers=self._worker.writers,
            measures=query.app.telemetry.measures,
            sampler=self._worker.sampler(query.app.telemetry.sample_hz),
        )

    def _revision(self, task: int) -> int:
        """Return the last plan revision that changed the input of a task or of an earlier stage."""
        own = self._settings.number
        return max(
            (
                r
                for (stage, cut), r in self._cuts.items()
                if stage < own or (stage, cut) == (own, task)
            ),
            default=0,
        )


def _envelopes(forwarded: Iterable[Forwarded]) -> Iterator[Envelope]:
    for each in forwarded:
        for part in EdgeRecords.of(each.queue):
            yield Envelope(each.stage, each.task, part)


def _origin(queues: Sequence[Queue]) -> str:
    """Return the offset ranges that a task has read, as text for the error of a rejected result."""
    read = (
        f"{queue.topic_partition} from offset {ends[0].as_py()} to {ends[-1].as_py()}"
        for queue in queues
        if len(ends := queue.table.column("offset"))
    )
    found = ", ".join(read)
    return f"; the task had read {found}" if found else ""
