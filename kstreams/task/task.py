"""Processes micro-batches with one partition group at one partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa

from kstreams.call_site import origin_text
from kstreams.errors import KStreamsError, OutsideBatchError
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TaskId
from kstreams.processors.interceptor import Interceptor
from kstreams.state.backend.working import Changes
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.table_access import TableAccess
from kstreams.task.batch_pass import BatchPass
from kstreams.task.buffer import BatchBuffer
from kstreams.task.call_room import CallRoom
from kstreams.task.contexts import TaskServices
from kstreams.task.failures.policies import RECORD_HINT, Policies
from kstreams.task.failures.user_errors import located, of_record, of_result
from kstreams.task.gathering import gathered
from kstreams.task.gc_pause import gc_pauses
from kstreams.task.input.input_selection import Intake
from kstreams.task.input.key_placement import Placement
from kstreams.task.input.read_ahead import ReadAhead
from kstreams.task.node_sampler import NodeSampler, sampled
from kstreams.task.output.changelogs import Changelogs
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.output.sink_checks import Outlet
from kstreams.task.progress.cursor import Cursor
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.task.record_and_table_loop import BatchWork
from kstreams.task.records.queues import Queue, least_hops
from kstreams.task.records.unframing import Unframing, as_read
from kstreams.task.rollback import Undo
from kstreams.task.run_observer import Watch, begun
from kstreams.task.task_limits import Allowance, TaskLimits
from kstreams.task.times.event_times import EventTimes
from kstreams.task.times.holding import Holding
from kstreams.task.times.idleness import Idleness
from kstreams.task.times.punctuation import NEVER, Schedule
from kstreams.task.wiring import Wiring
from kstreams.times import LATEST_MS
from kstreams.topic_limits import NO_LIMITS, Limits

__all__ = ("Task",)

_HINT = "fix the code of the node, and restart: nothing of this batch was kept."


class Task:
    """One partition group at one partition.

    `run` may be called for several batches; changes stay in the overlay and in `meta` until the
    caller commits both together. After an exception, task, overlay and meta are unusable.

    Args:
        group: The nodes.
        partition: The partition of the task.
        overlay: The stores, at the version of `meta`.
        meta: Stream time, positions and schedules; changed in place.
        wall_ms: The recorded wall time of the first batch, ms since the epoch.
        interceptors: The interceptors of every record processor's `process`.
        changelog_ends: By store, the end of the task's partition of its changelog at the start of
            the app; 0 by default.
        changelog_ids: By store, the topic id of its changelog at the start of the app, if topics
            have ids.
        limits: Returns the limits of a topic, such as the maximum size of a record.
        partitions: The partition count of each input, to check the partitions of keys; None
            disables the check.
        folder: The folder for output that exceeds the memory limit, on a disk; the system's
            temporary folder by default.
        tables: The readers of global tables, by the names of their stores.
        watch: The observer, if there is one; all nodes then run record by record.

    Raises:
        ProcessingError: A supplier or an `init` raised. The error names the node.
    """

    def __init__(
        self,
        group: PartitionGroup,
        partition: int,
        overlay: Overlay,
        meta: TaskMeta,
        *,
        wall_ms: int = 0,
        interceptors: Sequence[Interceptor] = (),
        changelog_ends: Mapping[str, int] | None = None,
        changelog_ids: Mapping[str, str] | None = None,
        limits: Limits = lambda _: NO_LIMITS,
        partitions: Mapping[str, int] | None = None,
        folder: Path | None = None,
        tables: Mapping[str, TableAccess] | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.group = group
        self.id = TaskId(group.name, partition)
        self.meta = meta
        self._cursor = Cursor(min(meta.stream_time, LATEST_MS), wall_ms)
        self._entries = {node.name: node for node in group.inputs}
        overlay.times = self._cursor
        self._changelogs = Changelogs(
            group.stores,
            overlay,
            meta,
            changelog_ends or {},
            ids=changelog_ids or {},
            limits=limits,
        )
        self._times = EventTimes(self._entries, meta, self._cursor, self._record_failed)
        self._unframing = Unframing(self._entries)
        self._intake = Intake(group, list(self._entries), meta, self._times.running_maxima)
        self._idleness = Idleness(group.idle_timeout_ms, meta, self._cursor)
        self._policies = Policies(
            self._entries, group.sinks, group.loop_ends, self._cursor, limits, folder
        )
        self._limits = TaskLimits(group, meta)
        self._services = TaskServices(
            self.id, overlay, meta, self._cursor, tables or {}, self._failed_at, self._limits
        )
        self._watch = watch
        interceptors = (*interceptors, *begun(watch, self._services))
        self._room = CallRoom(group.depth, len(interceptors))
        wire = partial(
            Wiring,
            group,
            self._services,
            interceptors=interceptors,
            eager=not self._policies.all_fail,
            outlet=lambda sink: Outlet(sink, limits, self._cursor, self._policies.refused),
            exceeded=self._policies.exceeded,
            call_frames=self._room.frames,
            folder=folder,
            watch=watch,
        )
        try:
            self._wiring = self._room.call(wire)
        except KStreamsError as exc:
            raise self._here(exc) from exc.__cause__
        holds = self._services.holds
        self._undo = Undo(overlay, self._wiring, meta, self._cursor, holds, limits=self._limits)
        self._settled = False
        work = BatchWork(
            self._entries,
            group.followers,
            self._wiring,
            self._cursor,
            self._undo,
            ReadAhead(group, overlay),
            self._limits,
            next_due=self._services.stream.next_due,
            punctuate=self._fire_stream_time,
            failed=self._record_failed,
        )
        placement = Placement(group, partitions, self._cursor)
        self._pass = BatchPass(work, self._times, placement, self._flush_buffers)

    def run(
        self,
        queues: Sequence[Queue],
        *,
        wall_ms: int,
        idle_since_ms: int = 0,
        close_windows: bool = False,
        holding: Holding | None = None,
        limits: Mapping[str, Allowance] = MappingProxyType({}),
        sampler: NodeSampler | None = None,
    ) -> TaskOutput:
        """Process one micro-batch.

        Args:
            queues: The records; a source, edge or loop may have several queues or none.
            wall_ms: The recorded wall time of the batch; due wall-clock punctuators fire after the
                records.
            idle_since_ms: Idleness before this wall time does not count, ms since the epoch.
            close_windows: Whether to close open windows at the end.
            holding: The rule for records to leave for a later batch; None: no record waits.
            limits: The allowance of each limit; a limit without an allowance belongs to this task
                only.
            sampler: Samples the time of nodes.

        Raises:
            DeserializationError: A record cannot be decoded, and the policy of its source is
                `fail`.
            RegistryUnavailableError: A schema registry does not answer.
            MisplacedKeyError: The keys of a source are in other partitions than expected.
            SerializationError: A forwarded record cannot be encoded for its sink or edge.
            RecordRefusedError: A topic rejects a result.
            ProcessingError: User code raised, and the policy of the source is `fail`.
            KStreamsError: Other errors, such as those of stores; the error names group and
                partition.
            KeyboardInterrupt: The process was interrupted, or a processor raised it.
            Exceeded: A limit got more records than its allowance.
        """
        self._cursor.begin(wall_ms)
        self._limits.begin(limits)
        self._check_settled()
        self._settled = False
        self._services.open()
        try:
            with gc_pauses():
                run = partial(self._run, queues, wall_ms, idle_since_ms, holding, close_windows)
                output = self._room.call(sampled(sampler, self._wiring.places.node_running, run))
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # noqa: BLE001  # user code, which may also exit
            error = located(exc, self._wiring.places, hint=_HINT)
            taken, first = self._pass.taken, self._pass.first_place
            of_record(error, self._entries, taken, first, hint=RECORD_HINT)
            raise self._here(error) from error.__cause__
        finally:
            self._services.seal()
            self._pass.taken = ()
        self._settled = True
        self._limits.end()
        return output

    def _check_settled(self) -> None:
        """Check that no processor has forwarded records since the end of the last batch."""
        if self._settled and not self._undo.is_untouched():
            raise self._here(OutsideBatchError("a processor forwarded records outside of a batch"))

    def interrupted(self, exc: KeyboardInterrupt) -> KStreamsError:
        """Return the error for a `KeyboardInterrupt` that a processor raised in `run`.

        The error names the current record. It fails the batch, whatever the policy of the source.
        """
        error = located(exc, self._wiring.places, hint=_HINT)
        record = self._cursor.metadata()
        if record is not None:
            error.at(topic=record.topic, partition=record.partition, offset=record.offset)
            error.at(timestamp=record.timestamp)
        return self._here(error)

    def _run(
        self,
        queues: Sequence[Queue],
        wall_ms: int,
        idle_since_ms: int,
        holding: Holding | None,
        close_windows: bool,
    ) -> TaskOutput:
        fresh, held, reads = self._intake.take(self._unframing.plain(queues), holding)
        self._cursor.least_hops = least_hops(fresh)
        left = self._pass.run(fresh)
        fresh, held, reads = self._intake.leave(left, fresh, held, reads)
        self._flush_buffers()
        least, self._cursor.least_hops = self._cursor.least_hops, 0  # time is a cause of its own
        if self._idleness.advance(wall_ms, since_ms=idle_since_ms, with_records=bool(fresh)):
            self._fire_stream_time()
        self._advance_columns()
        self._services.wall.set_back(wall_ms)
        self._services.wall.fire_due(wall_ms, self._punctuate)
        self._cursor.least_hops = least
        self._finish_nodes(close_windows=close_windows)
        self.meta.stream_time = self._cursor.stream_time
        output = gathered(self.group, self._wiring, self._policies, self._cursor, reads)
        due = min(self._services.wall.next_due(), self._idle_due())
        output.records_in = sum(queue.table.num_rows for queue in fresh)
        output.partition, output.held = self.id.partition, held
        output.next_wall_due = None if due == NEVER else due
        return output

    def changelogs(self, changes: Changes) -> dict[str, pa.Table]:
        """Return the changelog records of the last batch, by store; part of its output.

        Args:
            changes: The changes of the overlay, after processors are closed.

        Raises:
            SerdeError: The serdes of a store cannot write a row.
            RecordRefusedError: A changelog rejects a row.
        """
        try:
            return self._changelogs.tables(changes, self._cursor.wall_time)
        except KStreamsError as exc:
            raise self._here(exc) from exc.__cause__

    def close(self) -> None:
        """Close the processors.

        Raises:
            ProcessingError: A `close` raised.
            OutsideBatchError: A `close` forwards records, or writes to a store.
        """
        self._services.seal()
        try:
            self._room.call(self._wiring.close)
            self._check_settled()
        except KStreamsError as exc:
            raise self._here(exc) from exc.__cause__
        finally:
            self._room.close()

    def _here(self, error: KStreamsError) -> KStreamsError:
        origin = origin_text((*self.group.entries, *self.group.nodes), error.where.node)
        return error.at(group=self.group.name, partition=self.id.partition, origin=origin)

    def _fire_stream_time(self) -> None:
        """Fire the punctuators that stream time has made due."""
        self._flush_buffers()
        self._services.stream.fire_due(self._cursor.stream_time, self._punctuate)

    def _punctuate(self, schedule: Schedule, now: int) -> None:
        self._call(schedule.node, schedule.fire, now)

    def _advance_columns(self) -> None:
        """Pass stream time to column processors: it may be later than their last record."""
        now = self._cursor.stream_time
        for node, processor in self._wiring.column_processors:
            self._call(node, processor.advance, now)

    def _finish_nodes(self, *, close_windows: bool) -> None:
        """Let each node close its open windows, if requested, and release its held items.

        Parents come before their children, because children may hold records of their parents.
        """
        calls: dict[str, list[Callable[[], None]]] = {}
        if close_windows:
            for name, close in self._services.closing:
                calls.setdefault(name, []).append(close)
        for hold in self._services.holds:
            calls.setdefault(hold.node, []).append(hold.release)
        for node in self.group.processors if calls else ():
            for call in calls.get(node.name, ()):
                self._call(node.name, call)

    def _call(self, node: str, call: Callable[..., None], *times: int) -> None:
        """Call a node's callback with `times` (ms), then flush the buffers that it may fill."""
        self._cursor.rows = None
        try:
            call(*times)
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # noqa: BLE001  # user code, which may also exit
            error = located(exc, self._wiring.places, hint=_HINT).at(node=node)
            raise error from error.__cause__
        self._flush(self._wiring.inner_buffers)

    def _flush_buffers(self) -> None:
        self._flush(self._wiring.buffers)

    def _flush(self, buffers: Sequence[BatchBuffer]) -> None:
        self._cursor.rows = None
        for buffer in buffers:
            buffer.flush()

    def _record_failed(self, queue: Queue, row: int, key: object, exc: BaseException) -> None:
        """Apply the policy of the source to a failed record, which the caller rolls back."""
        self._failed_at(queue.entry, queue, row, key, exc)

    def _failed_at(
        self, node: str, queue: Queue, row: int, key: object, exc: BaseException
    ) -> None:
        """Apply the policy to a failed record that a node reports.

        The node may be processing another record at that time.
        """
        raw = as_read(queue.table.slice(row, 1))
        error = located(exc, self._wiring.places, hint=RECORD_HINT)
        if error.where.target is not None:
            error = of_result(error)
        error.at(
            node=queue.entry,
            key=raw.column("key")[0].as_py() if key is None else key,
            group=self.group.name,
            **queue.place(row),
        )
        if self._watch is not None:
            self._watch.failed(queue, row, error)
        self._policies.apply(queue, row, error, node)

    def _idle_due(self) -> int:
        """Return the wall time, ms, at which idleness may advance stream time, or `NEVER`."""
        due = self._idleness.next_due()
        follows = self._services.stream.schedules or self._wiring.column_processors
        return NEVER if due is None or not follows else due
