"""The app: a topology, its topics and its state, running on Spark."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from pyspark.sql import SparkSession

from kstreams.batch.report import AppState, BatchReport
from kstreams.batch.signals import stopping_on_signals
from kstreams.checkpoint.changes import UpgradeOptions
from kstreams.checkpoint.checkpoint import Checkpoint, checkpoint_path
from kstreams.checkpoint.fork import ForkSource
from kstreams.checkpoint.lock import CheckpointLock
from kstreams.checkpoint.migration import Migration
from kstreams.clock import Clock, SystemClock, steady_ms
from kstreams.connection import Connection
from kstreams.errors import CompileError, ExecutionError, KStreamsError
from kstreams.graph.topology import Topology
from kstreams.processors.interceptor import Interceptor
from kstreams.quoting import kind_of, text_of
from kstreams.spark.assemble import Assembly, assemble
from kstreams.spark.failure import typed
from kstreams.spark.packages import Packages
from kstreams.spark.pipeline import Pipeline
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.upkeep import Upkeep

__all__ = ("App",)

_LOG = logging.getLogger("kstreams")
_TICK_SECONDS = 0.02


class App:
    """Runs a topology on Spark, until the present end or on and on.

    A context manager: leaving it closes the app. One app a checkpoint at a time; after a
    stop or a crash, an app on the same checkpoint goes on exactly where it was. State
    effects are exactly once; embedded topics see each result once, on Kafka a result may
    be repeated, identical and with the same `kstreams-id` header.

    Args:
        topology: What to run.
        connection: Where all its topics live: `Embedded(...)` or `Kafka(...)`.
        state: Backend of the stores; `Memory()` by default.
        app_id: Names the checkpoint, and records on Kafka; the topology's name by default.
        checkpoint: Directory that the driver and all executors share;
            `.kstreams/<app_id>` by default.
        trigger: Least time between the starts of two batches.
        max_records_per_batch: How many records a query reads in one batch at most, so that
            a backlog of any size runs in bounded memory.
        max_bytes_per_batch: How many bytes of records it reads in one batch, and each
            worker at most, but one record in any case. Sizes are guessed by what was read
            before; a batch that turns out larger is planned again, smaller. A worker takes
            some five times its share in memory: with 256 MiB, eight of them have room in
            24 GiB even if the records of a batch are all for one.
        interceptors: Wrapped around every record processor.
        packages: The user's modules that executors need; `"auto"` finds them.
        parallelism: Spark tasks of one stage at most; by default as many as Spark has
            cores.
        spark: The session to run on; the running one, or one made here, by default.
        config: Spark's settings for a session made here.
        clock: Decides when wall-clock work is due.
        on_batch: Called after each committed batch, from a thread of Spark's.
        migrate: After a change of the topology: by the name of a store in it, how its
            contents are made from an old store's. Passed over once it is done.
        reset: After a change of the topology: names of stores that would be emptied or
            misread, and whose old contents are to be dropped. Passed over once it is done.
        fork: If there is no checkpoint yet, begin on a copy of another's savepoint:
            `"<checkpoint directory>@<savepoint>"`, or a `ForkSource`.
        retained_batches: How many committed batches of each query stay readable, by
            `View(as_of=...)`; 2 or more.
        upkeep: How often the durable log gets snapshots, and merges of deltas.

    Raises:
        CompileError: A setting is out of range.
        SavepointError: `fork` is a text that names no savepoint.
    """

    def __init__(
        self,
        topology: Topology,
        connection: Connection,
        *,
        state: StateBackend | None = None,
        app_id: str | None = None,
        checkpoint: str | Path | None = None,
        trigger: timedelta = timedelta(milliseconds=100),
        max_records_per_batch: int = 250_000,
        max_bytes_per_batch: int = 256 * 1024 * 1024,
        interceptors: Sequence[Interceptor] = (),
        packages: Packages = "auto",
        parallelism: int | None = None,
        spark: SparkSession | None = None,
        config: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        on_batch: Callable[[BatchReport], None] | None = None,
        migrate: Mapping[str, Migration[Any, Any]] | None = None,
        reset: Collection[str] = (),
        fork: str | ForkSource | None = None,
        retained_batches: int = 10,
        upkeep: Upkeep | None = None,
    ) -> None:
        if max_records_per_batch < 1 or max_bytes_per_batch < 1 or trigger < timedelta(0):
            raise CompileError(
                "max_records_per_batch and max_bytes_per_batch are at least 1, and trigger not "
                "negative"
            )
        if retained_batches < 2:
            raise CompileError("retained_batches is at least 2: a batch may be tried again")
        if isinstance(reset, str):
            raise CompileError(f"reset is a set of stores: reset={{{reset!r}}}")
        self.topology = topology
        self.app_id = app_id or topology.name
        self.checkpoint = checkpoint_path(self.app_id, checkpoint)
        self._lock = CheckpointLock(self.checkpoint)
        self._assembly = Assembly(
            topology=topology,
            connection=connection,
            backend=state or Memory(),
            app=self.app_id,
            checkpoint=self.checkpoint,
            run=uuid4().hex[:12],
            trigger=trigger,
            max_records=max_records_per_batch,
            max_bytes=max_bytes_per_batch,
            interceptors=tuple(interceptors),
            packages=packages,
            parallelism=parallelism,
            session=spark,
            config=dict(config or {}),
            clock=clock or SystemClock(),
            orders=UpgradeOptions(dict(migrate or {}), frozenset(reset)),
            fork=ForkSource.parse(fork) if isinstance(fork, str) else fork,
            retained=retained_batches,
            upkeep=upkeep or Upkeep(),
            fence=self._lock.check,
            wanted=threading.Event(),
        )
        self._on_batch = on_batch
        self._listeners: list[Callable[[AppState, AppState], None]] = []
        self._state = AppState.CREATED
        self._pipelines: tuple[Pipeline, ...] = ()
        self._loop: threading.Thread | None = None
        self._stop = threading.Event()
        self._failure: KStreamsError | None = None

    @property
    def state(self) -> AppState:
        """Where the app is in its life."""
        return self._state

    @property
    def log(self) -> ObjectStoreSettings:
        """Where its durable log is: for a `View` of its stores."""
        return self._assembly.backend.log or Checkpoint.log_of(self.checkpoint)

    @property
    def failure(self) -> KStreamsError | None:
        """What made the app fail, or None."""
        return self._failure

    def on_state_change(self, listener: Callable[[AppState, AppState], None]) -> None:
        """Call `listener(old, new)` at each change of state, in the thread that changes it."""
        self._listeners.append(listener)

    def run(
        self,
        *,
        until: Literal["end"] | None = None,
        timeout: timedelta | None = None,
        close_windows: bool = False,
    ) -> None:
        """Run in this thread: to the present end, or until stopped.

        To the end means: what the sources hold when it begins, and all that follows from
        it inside the topology; queries run one after the other, in the order in which
        their topics depend on each other, until all is quiet. Otherwise the app runs until
        `close` is called elsewhere, or SIGINT or SIGTERM comes, and then stops after the
        batch under way.

        Args:
            until: `"end"`, or None to run on.
            timeout: Stop after this time. To the end it is an error not to get there.
            close_windows: With `until="end"`: at the end, close every open window and
                release all results that are held back, as if stream time had come that
                far; see `drain`.

        Raises:
            CompileError: `close_windows` without `until="end"`.
            KStreamsError: The app failed; nothing of the failed batch was kept.
            ExecutionError: The timeout has passed before the end was reached.
        """
        if close_windows and until != "end":
            raise CompileError(
                "close_windows is for runs that end", hint="add until='end', or leave it out"
            )
        restore = stopping_on_signals(self._stop)
        try:
            self.open()
            stopping_on_signals(self._stop)  # again: a Spark context puts its own handler in place
            if until == "end":
                self.drain(timeout=timeout, close_windows=close_windows)
            else:
                self._run_on(timeout)
        finally:
            restore()
            self.close()

    def start(self) -> None:
        """Run in the background; `close` stops it.

        A failure shows in `state` and `failure`, and is raised by `close`.
        """
        self.open()
        self._loop = threading.Thread(target=self._run_in_background, name=f"app-{self.app_id}")
        self._loop.daemon = True
        self._loop.start()

    def open(self) -> None:
        """Check topics and checkpoint, take the lock and start the queries.

        Done by `run` and `start`; by itself it serves those who call `drain` many times.

        Raises:
            UnknownTopicError: A source's topic does not exist.
            PartitionCountError: Topics of one group differ.
            CheckpointMismatchError: The checkpoint is another app's, or the topology has
                changed so that state would be emptied or misread; tells what to do.
            AppLockedError: Another app runs on the checkpoint.
        """
        if self._state is AppState.RUNNING:
            return
        if self._state is not AppState.CREATED:
            raise ExecutionError(
                f"app {self.app_id!r} is {self._state.value}",
                hint="make a new App for another run",
            )
        self._enter(AppState.STARTING)
        with self._failing():
            self._lock.acquire()
            self._pipelines = assemble(self._assembly, self._reported)
        self._enter(AppState.RUNNING)

    def drain(self, *, timeout: timedelta | None = None, close_windows: bool = False) -> None:
        """Process all that is there now, and what follows from it; then return, still open.

        Wall-clock work that is due when it begins is done too. Returns early when the app
        is asked to stop.

        Args:
            timeout: How long it may take.
            close_windows: Then close what is open, query by query, in one batch each. The
                windows of a node are closed up to the end of its last one that holds
                records: a record that comes for them later is late. Stream time does not
                move. `UnlimitedWindows` stay open.

        Raises:
            KStreamsError: A query failed.
            ExecutionError: The timeout has passed, or the app is not open.
        """
        if self._state is not AppState.RUNNING:
            raise ExecutionError(
                f"app {self.app_id!r} is {self._state.value}",
                hint="call open() before drain(), or run(until='end') alone",
            )
        deadline = _Deadline(self._assembly.clock, timeout)
        with self._failing():
            self._drain(deadline)
            for pipeline in self._pipelines if close_windows else ():
                pipeline.close_windows()
                self._drain(deadline)

    def _drain(self, deadline: _Deadline) -> None:
        wall = self._assembly.clock.now_ms()
        quiet = False
        while not quiet:
            quiet = True
            for pipeline in self._pipelines:
                end = pipeline.end()
                while not pipeline.reached(end, wall):
                    if self._stop.is_set():
                        return
                    deadline.check(f"query {pipeline.name!r} has not reached the end")
                    pipeline.tick(until=end)
                    self._wait()
                    quiet = False

    def _run_on(self, timeout: timedelta | None) -> None:
        deadline = _Deadline(self._assembly.clock, timeout)
        with self._failing():
            while not self._stop.is_set() and not deadline.passed():
                for pipeline in self._pipelines:
                    pipeline.tick()
                self._wait()

    def _wait(self) -> None:
        """Wait until a query wants a plan, or it is time to look for new records."""
        wanted = self._assembly.wanted
        wanted.wait(_TICK_SECONDS)
        wanted.clear()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Make the app fail by whatever is raised inside, which leaves as a typed error."""
        try:
            yield
        except Exception as exc:  # the JVM's end, a full disk, ...
            error = typed(exc)
            self._fail(error)
            if error is exc:
                raise
            raise error from exc

    def _run_in_background(self) -> None:
        try:
            self._run_on(None)
        except KStreamsError:
            _LOG.exception("app %s failed", self.app_id)

    def close(self, timeout: timedelta = timedelta(seconds=60)) -> None:
        """Stop after the batches under way; a second call does nothing.

        Args:
            timeout: How long to wait for them.

        Raises:
            KStreamsError: The app had failed in the background.
        """
        self._stop.set()
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.join()
        if self._state in (AppState.STOPPED, AppState.CREATED):
            return
        if self._state is AppState.RUNNING:
            self._enter(AppState.STOPPING)
        for pipeline in self._pipelines:
            pipeline.stop(timeout)
        self._pipelines = ()
        self._lock.release()
        if self._state is not AppState.FAILED:
            self._enter(AppState.STOPPED)
        elif loop is not None and self._failure is not None:
            raise self._failure

    def __enter__(self) -> App:
        """Return the app, not yet running."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def _reported(self, report: BatchReport, lines: Sequence[str]) -> None:
        for line in lines:
            print(line, flush=True)  # noqa: T201  # what a to_stdout sink is for
        if self._on_batch is None:
            return
        try:
            self._on_batch(report)
        except Exception as exc:
            raise ExecutionError(
                f"on_batch raised {kind_of(exc)}: {text_of(exc)}",
                hint="the batch is committed; mend on_batch and restart",
            ) from exc

    def _enter(self, state: AppState) -> None:
        before, self._state = self._state, state
        for listener in self._listeners:
            listener(before, state)

    def _fail(self, error: KStreamsError) -> None:
        self._failure = error.at(app=self.app_id)
        for pipeline in self._pipelines:
            pipeline.stop(timedelta(seconds=10))
        self._pipelines = ()
        self._lock.release()
        if self._state is not AppState.FAILED:
            self._enter(AppState.FAILED)


class _Deadline:
    def __init__(self, clock: Clock, timeout: timedelta | None) -> None:
        self._clock = clock
        self._end = None if timeout is None else steady_ms(clock) + timeout.total_seconds() * 1000
        self._timeout = timeout

    def passed(self) -> bool:
        return self._end is not None and steady_ms(self._clock) > self._end

    def check(self, what: str) -> None:
        if self.passed():
            raise ExecutionError(f"{what} within {self._timeout}")
