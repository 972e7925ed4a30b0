"""The app: a topology, its topics and its state, running on Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal

from typing_extensions import Self

from kstreams.batch.no_topics import NO_TOPICS
from kstreams.batch.open_feed import check_connection
from kstreams.batch.report import AppState, BatchReport, report_batch
from kstreams.batch.signals import stopping_on_signals
from kstreams.batch.task_moves import TaskMove
from kstreams.checkpoint.savepoint.fork import ForkSource
from kstreams.checkpoint.start.app_settings import AppSettings, Packages, store_names
from kstreams.checkpoint.start.migration import Migration
from kstreams.checkpoint.storage.named_home import CheckpointName, app_home
from kstreams.checkpoint.storage.telemetry_settings import Telemetry
from kstreams.clock import Clock, SystemClock
from kstreams.connection import Connection
from kstreams.errors import CompileError, KStreamsError
from kstreams.graph.limits import ends_by_itself
from kstreams.graph.topology import Topology
from kstreams.graph.window_emissions import check_run_closes_windows
from kstreams.options import checks_options
from kstreams.processors.interceptor import Interceptor, checked_interceptors
from kstreams.spark.app_parts import AppParts, new_run
from kstreams.spark.app_run import AppRun, shortened
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.upkeep import Upkeep
from kstreams.telemetry.watchers import watchers_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


__all__ = ("App",)


_CLOSE_HINT = "run it with until='end' and close_windows=True, or emit each_update()."


class App:
    """Runs a topology on Spark, until the present end or on and on.

    A context manager: leaving it closes the app. One app a checkpoint at a time; after a
    stop or a crash, an app on the same checkpoint goes on exactly where it was. State
    effects are exactly once; embedded topics see each result once, and so does Kafka with
    `Kafka(delivery="exactly-once")`. By default a result may be repeated there, identical
    (`add_sink(result_ids=True)` tells copies by a header).

    Args:
        topology: What to run.
        connection: Where all its topics live: `Embedded(...)` or `Kafka(...)`; None where it has
            none, as its sources are logs and its sinks other places.
        state: Backend of the stores; `Memory()` by default.
        app_id: Names the checkpoint, and records on Kafka; the topology's name by default.
        checkpoint: What the app goes on from at its next start, `.kstreams/<app_id>` by
            default: a directory, which all executors share unless the state has a log
            elsewhere; or a storage, by URL (`s3://bucket/app`) or settings (`S3(...)`): then
            driver and executors share nothing else, and a new driver takes over from an older
            one. A checkpoint is one app's.
        trigger: Least time between the starts of two batches.
        max_records_per_batch: How many records a query reads in one batch at most, so that
            a backlog of any size runs in bounded memory. The first batches read 250,000; where
            there is a backlog, later ones read more until one takes half a second.
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
        on_batch: Called after each committed batch, in the thread that runs the batches of
            its query. It may call `close`, and neither `run` nor `drain`.
        migrate: After a change of the topology: by the name of a store in it, how its
            contents are made from an old store's. Passed over once it is done.
        reset: After a change of the topology: names of stores that would be emptied or
            misread, and whose old contents are to be dropped. Passed over once it is done.
        fork: If there is no checkpoint yet, begin on a copy of another's savepoint:
            `"<checkpoint>@<savepoint>"`, or a `ForkSource`.
        retained_batches: How many committed batches of each query stay readable, by
            `View(as_of=...)`; 2 or more.
        repin: Whether a batch that was planned and not committed may read the newest version
            of a global table where the one that it was planned on is gone: what it has
            written to Kafka by then may differ from what it writes now. Otherwise that is a
            `VersionGoneError`.
        upkeep: How often the durable log gets snapshots, and merges of deltas.
        telemetry: What the app tells those who watch it: files in its checkpoint, by default.

    Raises:
        CompileError: A setting is out of range.
        PluginError: No installed package serves the checkpoint's URL, or OpenTelemetry is to be
            told and is not installed.
        SavepointError: `fork` is a text that names no savepoint.
    """

    @checks_options
    def __init__(
        self,
        topology: Topology,
        connection: Connection | None = None,
        *,
        state: StateBackend | None = None,
        app_id: str | None = None,
        checkpoint: CheckpointName | None = None,
        trigger: timedelta = timedelta(milliseconds=100),
        max_records_per_batch: int = 1_000_000,
        max_bytes_per_batch: int = 256 * 1024 * 1024,
        interceptors: Sequence[Interceptor] = (),
        packages: Packages = "auto",
        parallelism: int | None = None,
        spark: SparkSession | None = None,
        config: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        on_batch: Callable[[BatchReport], None] | None = None,
        migrate: Mapping[str, Migration] | None = None,
        reset: Collection[str] = (),
        fork: str | ForkSource | None = None,
        retained_batches: int = 10,
        repin: bool = False,
        upkeep: Upkeep | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        if connection is not None:
            check_connection(connection)
        self.topology = topology
        self.app_id = app_id or topology.name
        home = app_home(self.app_id, checkpoint)
        self.checkpoint = home.named
        self._settings = AppSettings(
            self.app_id,
            home,
            state=state or Memory(),
            trigger=trigger,
            max_records_per_batch=max_records_per_batch,
            max_bytes_per_batch=max_bytes_per_batch,
            interceptors=checked_interceptors(interceptors),
            packages=packages,
            parallelism=parallelism,
            config=dict(config or {}),
            migrate=dict(migrate or {}),
            reset=store_names(reset),
            fork=ForkSource.parse(fork) if isinstance(fork, str) else fork,
            retained_batches=retained_batches,
            repin=repin,
            upkeep=upkeep or Upkeep(),
            telemetry=telemetry or Telemetry(),
        )
        clock = clock or SystemClock()
        run = new_run()
        self._on_moves: list[Callable[[Sequence[TaskMove]], None]] = []
        self._parts = AppParts(
            topology=topology,
            connection=NO_TOPICS if connection is None else connection,
            lock=home.lock(),
            clock=clock,
            report=partial(report_batch, on_batch, self._on_moves),
            spark=spark,
            run=run,
            watchers=watchers_of(self._settings, run, clock, lambda: self._run.paused.known),
        )
        self._run = AppRun(self._settings, self._parts)

    @property
    def state(self) -> AppState:
        """What the app is doing."""
        return self._run.state

    @property
    def log(self) -> ObjectStoreSettings:
        """Where its durable log is: for a `View` of its stores."""
        return self._settings.state.log or self._settings.checkpoint.log

    @property
    def failure(self) -> KStreamsError | None:
        """What made the app fail, or None."""
        return self._run.failure

    def on_state_change(self, listener: Callable[[AppState, AppState], None]) -> None:
        """Call `listener(old, new)` at each change of state, in the thread that changes it."""
        self._run.listeners.append(listener)

    def on_rebalance(self, listener: Callable[[Sequence[TaskMove]], None]) -> None:
        """Call `listener(moves)` when tasks ran on other workers than before.

        That is after the first batch of each task, with `from_worker` None, and when Spark has
        another worker run a task: because a worker died, an executor was added or lost, or by its
        scheduling. It is called after the batch's commit, in the thread that calls `on_batch`,
        before `on_batch`; what it raises stops the app.

        Source: goka's `WithRebalanceCallback`; `ConsumerRebalanceListener`.
        """
        self._on_moves.append(listener)

    @checks_options
    def run(
        self,
        *,
        until: Literal["end"] | None = None,
        timeout: timedelta | None = None,
        close_windows: bool = False,
    ) -> None:
        """Run in this thread: to the present end, until stopped, or until the input ends.

        To the end means: what the sources hold when it begins, and all that follows from
        it inside the topology; queries run one after the other, in the order in which
        their topics depend on each other, until all is quiet. Otherwise the app runs until
        `close` is called elsewhere, or SIGINT or SIGTERM comes, and then stops after the
        batch under way.

        In both cases the run ends earlier where the input ends. A bounded source (`items`,
        `bounded(log)`) ends with what it holds at the start of the run. A source ends, too,
        once every path below it leads through a `limit` that is reached: it is not read any
        more. When all sources have ended, all that follows from their records is processed, and
        the run ends. Topics that fill global tables do not keep it running.

        Args:
            until: `"end"`, or None to run on.
            timeout: Stop after this time. To the end it is an error not to get there.
            close_windows: For runs that end: at the end, close every open window and
                release all results that are held back, as if stream time had come that
                far; see `drain`.

        Raises:
            CompileError: `close_windows` for a run that does not end: without `until="end"`, a
                limit, or bounded sources alone; or a node never emits without
                `close_windows`, such as `on_close()` with `UnlimitedWindows`.
            KStreamsError: The app failed; nothing of the failed batch was kept.
            ExecutionError: The timeout has passed before the end was reached.
        """
        if close_windows and until != "end" and not ends_by_itself(self.topology):
            raise CompileError(
                "close_windows is for runs that end", hint="add until='end', or leave it out."
            )
        if not close_windows:
            check_run_closes_windows(self.topology, _CLOSE_HINT)
        stop = self._run.stop
        restore = stopping_on_signals(stop)
        try:
            self._run.open()
            stopping_on_signals(stop)  # again: a Spark context puts its own handler in place
            if until == "end":
                self._run.drain(timeout, close_windows=close_windows)
            else:
                self._run.run(timeout, close_windows=close_windows)
        except KStreamsError as exc:
            raise shortened(exc) from exc.__cause__
        finally:
            restore()
            self.close()

    def start(self) -> None:
        """Run in the background; `close` stops it.

        A failure shows in `state` and `failure`, and is raised by `close`. Where the input ends,
        as `run` says, the app stays open until `close`.

        Raises:
            CompileError: A node emits only at the end of a run that closes windows.
        """
        check_run_closes_windows(self.topology, _CLOSE_HINT)
        self._run.open()
        self._run.run_in_background()

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
        self._run.open()
        self._run.finish_if_asked()

    def drain(self, *, timeout: timedelta | None = None, close_windows: bool = False) -> None:
        """Process all that is there now, and what follows from it; then return, still open.

        Wall-clock work that is due when it begins is done too. Returns early when the app
        is asked to stop.

        Args:
            timeout: How long it may take.
            close_windows: Then close what is open, query by query, in one batch each. The
                windows of a node are closed up to the end of its last one that holds
                records: a record that comes for them later is late. Stream time does not
                move. `UnlimitedWindows` close only where they emit `on_close()`.

        Raises:
            KStreamsError: A query failed.
            ExecutionError: The timeout has passed, or the app is not open.
        """
        try:
            self._run.drain(timeout, close_windows=close_windows)
        except KStreamsError as exc:
            raise shortened(exc) from exc.__cause__
        self._run.finish_if_asked()

    def close(self, timeout: timedelta = timedelta(seconds=60)) -> None:
        """Stop after the batches under way; a second call does nothing.

        Any thread may call this. In a callback of the app (`on_batch`, a listener of
        `on_state_change`, a signal handler) the call asks for the stop and returns at once. No
        further batch begins, and `run`, `drain` or the thread of `start` closes the app.

        Args:
            timeout: Maximum time to wait for the batches and for another thread that runs or
                closes the app.

        Raises:
            ExecutionError: The app has not stopped in that time.
            KStreamsError: The app had failed in the background.
        """
        self._run.close(timeout)

    def __enter__(self) -> Self:
        """Return the app, not yet running."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()
