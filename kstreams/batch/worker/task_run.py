"""Runs a batch of one task, on Spark's workers and in the test driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.batch.io.sink_writers import write_results
from kstreams.batch.io.topic_io import BatchId
from kstreams.batch.messages.latency import Ages
from kstreams.batch.messages.task_call import TaskCall
from kstreams.batch.messages.task_numbers import TaskNumbers
from kstreams.batch.messages.task_status import ReadSizes, TaskStatus
from kstreams.batch.messages.worker_times import COMMIT, PROCESS, READ, RESTORE, WRITE, Busy
from kstreams.batch.worker.task_settings import TaskSettings
from kstreams.batch.worker.task_state import OpenState, TaskState
from kstreams.batch.worker.topic_counts import topic_counts
from kstreams.checkpoint.planning.plans import Slice
from kstreams.errors import KStreamsError
from kstreams.ids import TaskId, TopicPartition
from kstreams.state.log.commits import Output
from kstreams.state.log.loop_objects import LoopPart
from kstreams.state.log.receipts import Receipts
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.output.routing import route
from kstreams.task.records.queues import Queue
from kstreams.task.task import Task

__all__ = ("Forwarded", "TaskResult", "TaskRun")


@dataclass(frozen=True)
class Forwarded:
    """Records for a task of a later stage.

    Attributes:
        stage: The number of the stage.
        task: The partition of the task.
        queue: The records, ordered by offset.
    """

    stage: int
    task: int
    queue: Queue


class _Written(NamedTuple):
    receipts: tuple[Receipts, ...]
    outputs: tuple[Output, ...]
    loops: tuple[LoopPart, ...]
    staged: tuple[LoopPart, ...]


@dataclass(frozen=True)
class TaskResult:
    """The result of a task.

    Attributes:
        status_so_far: The status for the driver, without the requests to the durable log.
        state: The task's state, whose new version is written and not yet committed by the driver.
        forwarded: The records for later stages; can be iterated once.
        busy: The durations of phases; later phases may be added.
    """

    status_so_far: TaskStatus
    state: OpenState
    forwarded: Iterator[Forwarded]
    busy: Busy

    @property
    def status(self) -> TaskStatus:
        """The status for the driver; waits until the state is durable.

        Raises:
            StoreError: The state could not be written.
        """
        with self.busy.during(COMMIT):
            self.state.settle()
        numbers = replace(self.status_so_far.numbers, busy_us=self.busy.us)
        return replace(self.status_so_far, log=self.state.traffic(), numbers=numbers)


class TaskRun:
    """Runs one task: opens its state, runs its processors, writes their output, commits.

    After an exception the object is usable only if `discard` is called and the state is rolled back
    to the last commit.

    Args:
        settings: The settings of the task.
        state: The state of the task.
    """

    def __init__(self, settings: TaskSettings, state: TaskState) -> None:
        self._settings = settings
        self._state = state
        self._id = TaskId(settings.group.name, settings.partition)
        self._task: Task | None = None

    @property
    def has_processors(self) -> bool:
        """Return whether processors exist: kept for the next batch, or left by a failed batch."""
        return self._task is not None

    def prepare(self, state: OpenState, wall_ms: int) -> None:
        """Create the processors before the first batch.

        Args:
            state: The state that the first batch will have.
            wall_ms: The wall time at which the intervals of wall-clock punctuators start, ms since
                the epoch.

        Raises:
            ProcessingError: A supplier or an `init` raised; the error names the node.
        """
        self._task = self._made(state, wall_ms)

    def run(
        self,
        call: TaskCall,
        read: Sequence[Queue],
        forwarded: Sequence[Queue] = (),
        *,
        batch: int = 0,
        revision: int = 0,
    ) -> TaskResult:
        """Run a batch, and write a version of the state for the driver's commit.

        Args:
            call: The call of the driver.
            read: The read records, one queue for each slice of the call.
            forwarded: The records from tasks of earlier stages, in any order.
            batch: The number of the batch.
            revision: The plan revision if the input differs from that of the first plan; else 0.

        Raises:
            Exceeded: As for `Task.run`; nothing is written.
            KStreamsError: As for `Task.run`, `Writer.write`, `TopicIO.write` and the state's `open`
                and `commit`.
            KeyboardInterrupt: The process was interrupted; `interrupted` returns the error to
                raise.
        """
        settings = self._settings
        busy = Busy()
        with ExitStack() as opened:
            with busy.during(RESTORE):
                state = opened.enter_context(self._state.open(call.pointer, batch))
                rows = state.rows() if settings.measures else {}
            with busy.during(READ):
                queues = _joined([*read, *forwarded, *_received(state, call.loops)])
            with busy.during(PROCESS):
                task = self._task = self._task or self._made(state, call.wall_ms)
                output = task.run(
                    queues,
                    wall_ms=call.wall_ms,
                    idle_since_ms=call.since_ms,
                    close_windows=call.close_windows,
                    holding=call.holding,
                    limits=call.limits,
                    sampler=settings.sampler,
                )
                if call.close_windows or not settings.keeps_processors:
                    self.discard()
                changes = state.overlay.changes()
                output.changelogs = task.changelogs(changes)
            with busy.during(WRITE):
                written = self._write(output, state, batch, revision)
            with busy.during(COMMIT):
                pointer = state.commit(changes)
        topics = {node.name for node in settings.group.sources}
        fresh = [queue for queue in queues if queue.entry in topics]
        status = TaskStatus(
            self._id,
            pointer.to_json(),
            records=output.records_in,
            source_records=sum(_taken(queue, output) for queue in fresh),
            sizes=_sizes(call.slices, read),
            counts=output.counts,
            reads=output.reads,
            lines=tuple(output.lines),
            wall_due_ms=output.next_wall_due,
            outputs=written.outputs,
            loops=written.loops,
            staged=written.staged,
            held=output.held,
            receipts=written.receipts,
            numbers=TaskNumbers(
                nodes_us=output.nodes_us,
                restored=state.restored,
                rows=rows,
                ages=Ages.of(call.wall_ms, (_times(queue, output) for queue in fresh))
                if settings.measures
                else Ages(),
                samples=output.samples,
            ),
            topics=topic_counts(fresh, output, settings.group),
        )
        return TaskResult(status, state, self._forwarded(output), busy)

    def _write(self, output: TaskOutput, state: OpenState, batch: int, revision: int) -> _Written:
        """Write results to sinks and topics, and records for loops."""
        settings, io = self._settings, self._settings.io
        group, own = settings.group, settings.partition
        commits = settings.commits(batch, revision)
        receipts = write_results(output, group, settings.writers, commits, io.limits)
        id_ = BatchId(settings.producer, batch, revision)
        outputs = io.write(output, group, id_)
        sent = list(self._sent(output))
        staged = io.staged(output, group, id_)
        parts = state.send(chain(sent, ((name, own, table) for name, table in staged)))
        return _Written(tuple(receipts), tuple(outputs), parts[: len(sent)], parts[len(sent) :])

    def interrupted(self, exc: KeyboardInterrupt) -> KStreamsError | None:
        """Return the error for an interrupt in a processor; None if no processor was running."""
        return None if self._task is None else self._task.interrupted(exc)

    def discard(self) -> None:
        """Close the processors, if there are any; the next batch creates new ones.

        Raises:
            ProcessingError: A `close` raised.
            OutsideBatchError: A `close` forwards records, or writes to a store.
        """
        task, self._task = self._task, None
        if task is not None:
            task.close()

    def _made(self, state: OpenState, wall_ms: int) -> Task:
        settings = self._settings
        return Task(
            settings.group,
            settings.partition,
            state.overlay,
            state.meta,
            wall_ms=wall_ms,
            interceptors=settings.interceptors,
            changelog_ends=settings.changelog_ends,
            changelog_ids=settings.changelog_ids,
            limits=settings.io.limits,
            partitions=settings.partitions,
            folder=state.folder,
            tables=settings.tables,
            watch=settings.watch,
        )

    def _sent(self, output: TaskOutput) -> Iterator[tuple[str, int, pa.Table]]:
        """Yield the records for loops: name of the loop, receiving task, and table."""
        for end in self._settings.group.loop_ends:
            loop, table = end.loop, output.loops.get(end.loop.name)
            if table is not None:
                tasks = self._settings.edges[loop.name].tasks
                own = self._settings.partition
                for task, queue in route(loop, table, upstream=own, partitions=tasks):
                    yield loop.name, task, queue.table

    def _forwarded(self, output: TaskOutput) -> Iterator[Forwarded]:
        for edge in self._settings.group.exits:
            table = output.edges.get(edge.name)
            if table is None:
                continue
            target, own = self._settings.edges[edge.name], self._settings.partition
            for task, queue in route(edge, table, upstream=own, partitions=target.tasks):
                yield Forwarded(target.stage, task, queue)


def _received(state: OpenState, parts: Sequence[LoopPart]) -> list[Queue]:
    """Return the records that loops sent to the task, one queue for each `LoopPart`."""
    return [
        Queue(part.loop, part.loop, part.upstream, table)
        for part, table in zip(parts, state.received(parts) if parts else (), strict=True)
    ]


def _taken(queue: Queue, output: TaskOutput) -> int:
    """Return the number of records of a queue that the task processed in this batch.

    Other records are held back for a later batch; see `HeldBack`.
    """
    held = output.held.get(queue.topic_partition)
    return queue.table.num_rows if held is None else held.passed


def _times(queue: Queue, output: TaskOutput) -> npt.NDArray[np.int64]:
    """Return the timestamps of the processed records of a queue, ms since the epoch.

    If the task held records back for a later batch (see `HeldBack`), the result is approximate: the
    lowest timestamps of the queue, as many as processed records.
    """
    times: npt.NDArray[np.int64] = queue.table.column("timestamp").to_numpy()
    held = output.held.get(queue.topic_partition)
    return times if held is None else np.sort(times)[: held.passed]


def _sizes(slices: Sequence[Slice], queues: Sequence[Queue]) -> ReadSizes:
    sizes: dict[TopicPartition, tuple[int, int]] = {}
    for each, queue in zip(slices, queues, strict=True):
        place = each.topic_partition
        offsets, size = sizes.get(place, (0, 0))
        sizes[place] = offsets + len(each), size + queue.table.nbytes
    return sizes


def _joined(queues: Sequence[Queue]) -> list[Queue]:
    """Return one queue for each source partition and upstream task, in offset order."""
    parts: dict[tuple[str, str, int], list[Queue]] = {}
    for queue in queues:
        parts.setdefault((queue.entry, queue.topic, queue.partition), []).append(queue)
    return [pieces[0] if len(pieces) == 1 else _in_order(pieces) for pieces in parts.values()]


def _in_order(pieces: Sequence[Queue]) -> Queue:
    tables = sorted(
        (piece.table for piece in pieces if piece.table.num_rows),
        key=lambda table: table.column("offset")[0].as_py(),
    )
    if not tables:
        return pieces[0]
    joined = pa.concat_tables(tables, promote_options="default")  # some have error columns
    return pieces[0].with_table(joined)
