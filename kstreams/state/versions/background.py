"""Background upkeep: a thread of the worker merges deltas and creates snapshots.

A later commit of the task publishes the result of upkeep at version M: a snapshot, created from a
copy of M, with the deltas after M; or a merged delta instead of its parts. Before that no
pointer names the objects: a killed worker only loses the work, and cleanup removes the objects.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from queue import SimpleQueue
from typing import Literal, TypeAlias

from kstreams.clock import Clock, SystemClock, steady_ms, to_ms
from kstreams.errors import StateCorruptError
from kstreams.state.backend.task_key import TaskKey, new_attempt
from kstreams.state.backend.working import WorkingStore
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.merging import write_merger
from kstreams.state.log.pointer import ObjectRef, Pointer
from kstreams.state.log.snapshot import write_snapshot

__all__ = ("BackgroundUpkeep", "VersionCopy")

_FRESH = timedelta(minutes=30)
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


_Publish: TypeAlias = "Callable[[Pointer], Pointer]"
"""Returns a pointer with the new objects; unchanged if it has these objects already."""


@dataclass
class _Job:
    what: Literal["snapshot", "merger"]
    log: DurableLog
    pointer: Pointer
    make: Callable[[], _Publish]
    begun_ms: int
    line: set[str] = field(default_factory=set)
    done: bool = False
    damaged: bool = False
    publish: _Publish | None = None


class BackgroundUpkeep:
    """The upkeep thread of a process, with a queue of at most one merge or snapshot per task.

    Args:
        clock: The clock for the age of unpublished objects.
        fresh: The maximum age of unpublished objects. It must be well below the age at which
            cleanup deletes objects that no pointer names.
    """

    def __init__(self, *, clock: Clock | None = None, fresh: timedelta = _FRESH) -> None:
        self._clock = clock or SystemClock()
        self._fresh_ms = to_ms(fresh)
        self._lock = threading.Lock()
        self._jobs: dict[TaskKey, _Job] = {}
        self._to_mend: set[TaskKey] = set()
        self._queue: SimpleQueue[_Job | threading.Event] = SimpleQueue()
        self._process = 0

    def wants(self, task: TaskKey) -> bool:
        """Return whether a task has no running or waiting upkeep."""
        with self._lock:
            return task not in self._jobs

    def to_mend(self, task: TaskKey) -> bool:
        """Return whether a task needs a snapshot because its deltas are damaged."""
        with self._lock:
            return task in self._to_mend

    def begin_snapshot(
        self, log: DurableLog, pointer: Pointer, copy: VersionCopy, *, chunk_bytes: int
    ) -> None:
        """Start a snapshot of a version in the background.

        Args:
            log: The durable log of the task.
            pointer: The version, which may never be committed.
            copy: A copy of the version.
            chunk_bytes: The size of a chunk before compression.
        """
        self._begin("snapshot", log, pointer, partial(_snapshot, log, pointer, copy, chunk_bytes))

    def begin_merger(self, log: DurableLog, pointer: Pointer, parts: tuple[ObjectRef, ...]) -> None:
        """Start to merge deltas in the background.

        Args:
            log: The durable log of the task.
            pointer: The version, which may never be committed.
            parts: Consecutive deltas of the version and of one level.
        """
        self._begin("merger", log, pointer, partial(_merger, log, parts))

    def _begin(
        self,
        what: Literal["snapshot", "merger"],
        log: DurableLog,
        pointer: Pointer,
        make: Callable[[], _Publish],
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

    def published(self, task: TaskKey, base: Pointer, pointer: Pointer) -> Pointer:
        """Return the pointer of a new version, with the finished snapshot or merged delta, if any.

        The objects are only added if the upkeep started from an earlier version of the same state.

        Args:
            task: The task.
            base: The version of the checkout.
            pointer: The new version.
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
            if job.done and (job.publish is None or old or lost):
                del self._jobs[task]
                if own and job.damaged:
                    self._to_mend.add(task)
                return pointer
            return job.publish(pointer) if own and job.publish is not None else pointer

    def committed(self, task: TaskKey, pointer: Pointer) -> None:
        """Forget the task's finished upkeep if the pointer of a committed version contains it."""
        with self._lock:
            job = self._jobs.get(task)
            if job is None or job.publish is None or pointer.version_id not in job.line:
                return
            if job.publish(pointer) == pointer:
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
        publish, damaged = None, False
        try:
            publish = job.make()
        except StateCorruptError as error:
            damaged = True
            _LOG.warning("task %s: mending the log with a snapshot: %s", job.log.task, error)
        except Exception as error:  # noqa: BLE001  # it is no batch: it may fail
            _LOG.warning("task %s: no %s this time: %s", job.log.task, job.what, error)
        with self._lock:
            job.publish, job.damaged, job.done = publish, damaged, True


def _snapshot(log: DurableLog, pointer: Pointer, copy: VersionCopy, chunk_bytes: int) -> _Publish:
    try:
        store = copy.open()
        try:
            attempt = Attempt(new_attempt(), 0)
            made = write_snapshot(log, pointer, store, attempt, chunk_bytes=chunk_bytes)
        finally:
            store.close()
    finally:
        copy.discard()

    def publish(later: Pointer) -> Pointer:
        if later.base >= pointer.version:
            return later
        return later.with_snapshot(made.snapshot, pointer.version, pointer.version_id)

    return publish


def _merger(log: DurableLog, parts: tuple[ObjectRef, ...]) -> _Publish:
    merged = write_merger(log, parts, Attempt(new_attempt(), 0))
    return lambda later: later.with_merged(parts, merged)
