"""Snapshots made beside the batches: by a thread of the worker, from a copy of a version.

A snapshot of version M is published by a later commit of the same line of versions, which
then names its chunks and the deltas behind M. Until then nobody names it: a worker that is
killed loses the work and nothing else, and clean-up takes the chunks.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from queue import SimpleQueue

from kstreams.clock import Clock, SystemClock, to_ms
from kstreams.state.durable import Attempt, DurableLog
from kstreams.state.pointer import ObjectRef, Pointer
from kstreams.state.snapshot import write_snapshot
from kstreams.state.task_key import TaskKey, new_attempt
from kstreams.state.working import WorkingStore

__all__ = ("BackgroundSnapshots", "VersionCopy")

_FRESH = timedelta(minutes=30)
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class VersionCopy:
    """A copy of a closed version, for the thread alone.

    Attributes:
        open: Opens it.
        discard: Removes it, once closed.
    """

    open: Callable[[], WorkingStore]
    discard: Callable[[], None]


@dataclass
class _Job:
    log: DurableLog
    pointer: Pointer
    copy: VersionCopy
    chunk_bytes: int
    begun_ms: int
    line: set[str] = field(default_factory=set)
    done: bool = False
    chunks: tuple[ObjectRef, ...] | None = None


class BackgroundSnapshots:
    """One thread's queue of snapshots, at most one a task; one of these serves a process.

    Args:
        clock: Tells how old a snapshot is that waits for being published.
        fresh: How old it may become. It has to be well below the age at which clean-up
            deletes what nobody names.
    """

    def __init__(self, *, clock: Clock | None = None, fresh: timedelta = _FRESH) -> None:
        self._clock = clock or SystemClock()
        self._fresh_ms = to_ms(fresh)
        self._lock = threading.Lock()
        self._jobs: dict[TaskKey, _Job] = {}
        self._queue: SimpleQueue[_Job | threading.Event] = SimpleQueue()
        self._process = 0

    def wants(self, task: TaskKey) -> bool:
        """Tell whether a task has no snapshot under way or waiting."""
        with self._lock:
            return task not in self._jobs

    def begin(
        self, log: DurableLog, pointer: Pointer, copy: VersionCopy, *, chunk_bytes: int
    ) -> None:
        """Have a snapshot made of a version; returns at once.

        Args:
            log: The task's.
            pointer: The version; it need not come to count.
            copy: What holds it.
            chunk_bytes: Size of a chunk before compression.
        """
        job = _Job(log, pointer, copy, chunk_bytes, self._clock.now_ms(), line={pointer.lineage})
        with self._lock:
            self._jobs[log.task] = job
            if self._process != os.getpid():  # the first, or this is a fork without its thread
                self._process = os.getpid()
                self._queue = SimpleQueue()
                threading.Thread(target=self._work, name="kstreams-upkeep", daemon=True).start()
        self._queue.put(job)

    def published(self, task: TaskKey, base: Pointer, pointer: Pointer) -> Pointer:
        """Return a new version as it is best made: of a finished snapshot, if one fits.

        Args:
            task: The task.
            base: The version that was checked out.
            pointer: The one that a delta makes of it.
        """
        with self._lock:
            job = self._jobs.get(task)
            if job is None:
                return pointer
            own = base.lineage in job.line
            if own:
                job.line.add(pointer.lineage)
            old = self._clock.now_ms() - job.begun_ms > self._fresh_ms
            lost = not own and base.version >= job.pointer.version
            if job.done and (job.chunks is None or old or lost):
                del self._jobs[task]
                return pointer
            if not own or job.chunks is None:
                return pointer
            if pointer.base >= job.pointer.version:  # mended meanwhile
                return pointer
            return pointer.with_snapshot(job.chunks, base=job.pointer.version)

    def committed(self, task: TaskKey, pointer: Pointer) -> None:
        """Forget a snapshot that the version which was checked out is made of already."""
        with self._lock:
            job = self._jobs.get(task)
            if job is not None and job.done and job.pointer.version <= pointer.base:
                del self._jobs[task]

    def drain(self) -> None:
        """Wait until all that was begun is done."""
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
        chunks = None
        try:
            try:
                chunks = _snapshot(job)
            finally:
                job.copy.discard()
        except Exception as error:  # noqa: BLE001  # a snapshot is no batch: it may fail
            _logger.warning("task %s: no snapshot this time: %s", job.log.task, error)
        with self._lock:
            job.chunks, job.done = chunks, True


def _snapshot(job: _Job) -> tuple[ObjectRef, ...]:
    store = job.copy.open()
    try:
        attempt = Attempt(new_attempt(), 0)
        made = write_snapshot(job.log, job.pointer, store, attempt, chunk_bytes=job.chunk_bytes)
        return made.snapshot
    finally:
        store.close()
