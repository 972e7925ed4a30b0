"""Background upkeep: a thread of the worker merges deltas and creates snapshots.

A later commit of the task publishes the result of upkeep at version M: a snapshot, created from a
copy of M, with the deltas after M; or a merged delta instead of its parts. Small objects of the
result are held in memory, and that commit writes them. Before the commit no pointer names the
objects: a killed worker only loses the work, and cleanup removes the objects.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from queue import SimpleQueue
from typing import Literal, Protocol, TypeAlias

from typing_extensions import override

from kstreams.clock import Clock, SystemClock, steady_ms, to_ms
from kstreams.errors import StateCorruptError
from kstreams.state.backend.task_key import TaskKey, new_attempt
from kstreams.state.backend.working import Changes, WorkingStore
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.merging import write_merger
from kstreams.state.log.pointer import ObjectRef, Pointer
from kstreams.state.log.recent_objects import RecentObjects
from kstreams.state.log.snapshot import write_snapshot
from kstreams.state.log.version_ids import Link

__all__ = ("HELD_BYTES", "BackgroundUpkeep", "VersionCopy")

_FRESH = timedelta(minutes=30)
HELD_BYTES = 256 * 1024
"""The maximum size of an object that is held in memory until a commit writes it."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class VersionCopy:
    """A copy of a closed version, which only the upkeep thread uses.

    Attributes:
        open: Opens the copy.
        discard: Removes the copy after it was closed.
    """

    open: Callable[[], WorkingStore]
    discard: Callable[[], None]


_Put: TypeAlias = "Callable[[ObjectRef, bytes], ObjectRef]"
"""Stores a held object with the commit, and returns its final reference."""


class _Result(Protocol):
    """The finished objects of upkeep."""

    def is_in(self, pointer: Pointer) -> bool:
        """Return whether a pointer has the objects, or does not need them."""
        ...

    def added(self, pointer: Pointer, put: _Put) -> Pointer:
        """Return a pointer with the objects."""
        ...


@dataclass
class _Job:
    what: Literal["snapshot", "merger"]
    log: DurableLog
    pointer: Pointer
    make: Callable[[], _Result]
    begun_ms: int
    line: set[str] = field(default_factory=set)
    done: bool = False
    damaged: bool = False
    result: _Result | None = None


class BackgroundUpkeep:
    """The upkeep thread of a process, with a queue of at most one merge or snapshot per task.

    Args:
        clock: The clock for the age of unpublished objects.
        fresh: The maximum age of unpublished objects. It must be well below the age at which
            cleanup deletes objects that no pointer names.

    Attributes:
        recent: The last parts of packs that this process has written.
    """

    def __init__(self, *, clock: Clock | None = None, fresh: timedelta = _FRESH) -> None:
        self._clock = clock or SystemClock()
        self._fresh_ms = to_ms(fresh)
        self._lock = threading.Lock()
        self._jobs: dict[TaskKey, _Job] = {}
        self._to_mend: set[TaskKey] = set()
        self._queue: SimpleQueue[_Job | threading.Event] = SimpleQueue()
        self._process = 0
        self.recent = RecentObjects()

    def wants(self, task: TaskKey) -> bool:
        """Return whether a task has no running or waiting upkeep."""
        with self._lock:
            return task not in self._jobs

    def to_mend(self, task: TaskKey) -> bool:
        """Return whether a task needs a snapshot because its deltas are damaged."""
        with self._lock:
            return task in self._to_mend

    def begin_snapshot(
        self,
        log: DurableLog,
        pointer: Pointer,
        copy: VersionCopy,
        *,
        chunk_bytes: int,
        hold: bool = False,
    ) -> None:
        """Start a snapshot of a version in the background.

        Args:
            log: The durable log of the task.
            pointer: The version, which may never be committed.
            copy: A copy of the version.
            chunk_bytes: The size of a chunk before compression.
            hold: Whether small chunks are held in memory, for the pack of a later commit.
        """
        writer = _HoldingLog(log.objects, log.task, self.recent) if hold else log
        make = partial(_snapshot, writer, pointer, copy, chunk_bytes)
        self._begin("snapshot", log, pointer, make)

    def begin_merger(
        self, log: DurableLog, pointer: Pointer, parts: tuple[ObjectRef, ...], *, hold: bool = False
    ) -> None:
        """Start to merge deltas in the background.

        Args:
            log: The durable log of the task.
            pointer: The version, which may never be committed.
            parts: Consecutive deltas of the version and of one level.
            hold: Whether a small merged delta is held in memory, for the pack of a later commit.
        """
        writer = _HoldingLog(log.objects, log.task, self.recent) if hold else log
        self._begin("merger", log, pointer, partial(_merger, writer, parts))

    def _begin(
        self,
        what: Literal["snapshot", "merger"],
        log: DurableLog,
        pointer: Pointer,
        make: Callable[[], _Result],
    ) -> None:
        job = _Job(what, log, pointer, make, steady_ms(self._clock), line={pointer.version_id})
        with self._lock:
            self._jobs[log.task] = job
            if what == "snapshot":
                self._to_mend.discard(log.task)
            if self._process != os.getpid():  # the first, or this is a fork without its thread
                self._process = os.getpid()
                self._queue = SimpleQueue()
                threading.Thread(target=self._work, name="kstreams-upkeep", daemon=True).start()
        self._queue.put(job)

    def published(self, task: TaskKey, base: Pointer, pointer: Pointer, put: _Put) -> Pointer:
        """Return the pointer of a new version, with the finished snapshot or merged delta, if any.

        The objects are only added if the upkeep started from an earlier version of the same state.

        Args:
            task: The task.
            base: The version of the checkout.
            pointer: The new version.
            put: Stores an object of the result that is held in memory.
        """
        with self._lock:
            job = self._jobs.get(task)
            if job is None:
                return pointer
            own = base.version_id in job.line
            if own:
                job.line.add(pointer.version_id)
            old = steady_ms(self._clock) - job.begun_ms > self._fresh_ms
            lost = not own and base.version >= job.pointer.version
            if job.done and (job.result is None or old or lost):
                del self._jobs[task]
                if own and job.damaged:
                    self._to_mend.add(task)
                return pointer
            result = job.result
        if not own or result is None or result.is_in(pointer):
            return pointer
        return result.added(pointer, put)

    def committed(self, task: TaskKey, pointer: Pointer) -> None:
        """Forget the task's finished upkeep if the pointer of a committed version contains it."""
        with self._lock:
            job = self._jobs.get(task)
            if job is None or job.result is None or pointer.version_id not in job.line:
                return
            if job.result.is_in(pointer):
                del self._jobs[task]

    def drain(self) -> None:
        """Wait until all started upkeep is done."""
        if self._process == os.getpid():
            reached = threading.Event()
            self._queue.put(reached)
            reached.wait()

    def _work(self) -> None:
        queue = self._queue
        while True:
            job = queue.get()
            if isinstance(job, threading.Event):
                job.set()
            else:
                self._make(job)

    def _make(self, job: _Job) -> None:
        result, damaged = None, False
        try:
            result = job.make()
        except StateCorruptError as error:
            damaged = True
            _LOG.warning("task %s: mending the log with a snapshot: %s", job.log.task, error)
        except Exception as error:  # noqa: BLE001  # it is no batch: it may fail
            if not threading.main_thread().is_alive():
                return  # the process is ending, and has ended the threads of the work
            _LOG.warning("task %s: no %s this time: %s", job.log.task, job.what, error)
        with self._lock:
            job.result, job.damaged, job.done = result, damaged, True


@dataclass(frozen=True)
class _HoldingLog(DurableLog):
    """A durable log that holds small objects in memory, for a commit that writes them.

    Deltas that this process has just written are read from memory, without threads.
    """

    recent: RecentObjects
    held: dict[ObjectRef, bytes] = field(default_factory=dict)

    @override
    def read_linked(self, refs: Iterable[ObjectRef]) -> Iterator[tuple[Link, Changes]]:
        found = {ref: self.recent.get(ref) for ref in refs}
        known = {ref: data for ref, data in found.items() if data is not None}
        if len(known) < len(found):
            return super().read_linked(found)
        return (self._decoded(ref, data) for ref, data in known.items())

    @override
    def put(self, ref: ObjectRef, data: bytes) -> ObjectRef:
        if len(data) > HELD_BYTES:
            return super().put(ref, data)
        self.held[ref] = data
        return ref


@dataclass(frozen=True)
class _Snapshot:
    """A finished snapshot of a version.

    Attributes:
        version: The pointer of the version, with the snapshot.
        held: The chunks that are only in memory until the next commit writes them, by object.
    """

    version: Pointer
    held: Mapping[ObjectRef, bytes]

    def is_in(self, pointer: Pointer) -> bool:
        """Return whether a pointer has this snapshot or a newer one."""
        return pointer.base >= self.version.version

    def added(self, pointer: Pointer, put: _Put) -> Pointer:
        """Return a pointer with this snapshot, whose held chunks are passed to `put`."""
        final = {ref: put(ref, data) for ref, data in self.held.items()}
        chunks = tuple(final.get(ref, ref) for ref in self.version.snapshot)
        return pointer.with_snapshot(chunks, self.version.version, self.version.version_id)


@dataclass(frozen=True)
class _Merger:
    """The result of a finished merge: one delta that replaces several deltas.

    Attributes:
        parts: The replaced deltas, in order.
        merged: The merged delta.
        held: Data that is only in memory until the next commit writes it, by object; may contain
            the merged delta.
    """

    parts: tuple[ObjectRef, ...]
    merged: ObjectRef
    held: Mapping[ObjectRef, bytes]

    def is_in(self, pointer: Pointer) -> bool:
        """Return whether a pointer has the merged delta, or lacks the merged parts."""
        return pointer.with_merged(self.parts, self.merged) == pointer

    def added(self, pointer: Pointer, put: _Put) -> Pointer:
        """Return a pointer with the merged delta in place of its parts; `put` gets a held one."""
        data = self.held.get(self.merged)
        merged = self.merged if data is None else put(self.merged, data)
        return pointer.with_merged(self.parts, merged)


def _snapshot(log: DurableLog, pointer: Pointer, copy: VersionCopy, chunk_bytes: int) -> _Result:
    try:
        store = copy.open()
        try:
            attempt = Attempt(new_attempt(), 0)
            made = write_snapshot(log, pointer, store, attempt, chunk_bytes=chunk_bytes)
        finally:
            store.close()
    finally:
        copy.discard()
    return _Snapshot(made, _held(log))


def _merger(log: DurableLog, parts: tuple[ObjectRef, ...]) -> _Result:
    merged = write_merger(log, parts, Attempt(new_attempt(), 0))
    return _Merger(parts, merged, _held(log))


def _held(log: DurableLog) -> Mapping[ObjectRef, bytes]:
    return log.held if isinstance(log, _HoldingLog) else {}
