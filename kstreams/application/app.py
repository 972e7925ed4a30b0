"""The app: a topology, its topics and its state, running on an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal

from typing_extensions import Self

from kstreams.batch.io.no_topics import NO_TOPICS
from kstreams.batch.io.open_feed import check_connection
from kstreams.batch.report import AppState, BatchReport, report_batch
from kstreams.batch.signals import stopping_on_signals
from kstreams.batch.task_moves import TaskMove
from kstreams.checkpoint.savepoint.fork import ForkSource
from kstreams.checkpoint.start.app_settings import AppSettings, Packages, store_names
from kstreams.checkpoint.start.migration import Migration
from kstreams.checkpoint.start.rescale_settings import RescaleSettings
from kstreams.checkpoint.storage.named_home import CheckpointName, app_home
from kstreams.checkpoint.storage.telemetry_settings import Telemetry
from kstreams.clock import Clock, SystemClock
from kstreams.connection import Connection
from kstreams.errors import CompileError, KStreamsError
from kstreams.execution.app_parts import AppParts, new_run
from kstreams.execution.app_run import AppRun, shortened
from kstreams.execution.executor import Engine
from kstreams.graph.limits import ends_by_itself
from kstreams.graph.topology import Topology
from kstreams.graph.window_emissions import check_run_closes_windows
from kstreams.options import checks_options
from kstreams.processors.interceptor import Interceptor, checked_interceptors
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
    """Runs a topology on Spark or another engine, to the end of its sources or until stopped.

    A context manager: leaving it closes the app. One app at a time runs on a checkpoint; after a
    stop or a crash, the next app on the checkpoint continues at exactly that position. State
    effects are exactly once; embedded topics get each result once, and so does Kafka with
    `Kafka(delivery="exactly-once")`. By default, Kafka may get identical copies of a result
    (`add_sink(result_ids=True)` marks copies with a header).

    Args:
        topology: The topology to run.
        connection: The connection of all topics: `Embedded(...)` or `Kafka(...)`; None for a
            topology without topics, whose sources are logs and whose sinks are other destinations.
        state: The backend of the stores; `Memory()` by default.
        app_id: The name of the checkpoint and of producers on Kafka; the topology's name by
            default.
        checkpoint: The checkpoint, from which the app continues at its next start,
            `.kstreams/<app_id>` by default: a directory, which all executors share unless the state
            has a separate log; or object storage, by URL (`s3://bucket/app`) or settings
            (`S3(...)`): then driver and executors share nothing else, and a new driver replaces an
            older one. A checkpoint belongs to one app.
        trigger: The minimum time between the starts of two batches.
        max_records_per_batch: The maximum number of records that a query reads in one batch, so
            that a backlog of any size needs bounded memory. The first batches read 250,000; with a
            backlog, later batches grow until one takes half a second.
        max_bytes_per_batch: The maximum bytes of records that a query reads in one batch, and that
            each worker reads, but at least one record. Sizes are estimated from earlier batches; a
            larger batch is planned again, with fewer records. A worker needs about five times its
            share in memory: with 256 MiB, 24 GiB are enough for eight workers even if one worker
            gets all records of a batch.
        interceptors: The interceptors of every record processor.
        packages: The user's modules that executors need; `"auto"` finds them.
        parallelism: The maximum number of workers of one stage; by default the number of the
            engine's cores.
        engine: The engine that runs the tasks: `"spark"`, or `"embedded"` for worker processes on
            this machine without Spark and Java. Both read and write the same checkpoints.
        stage: The form of partition groups on Spark: `"workers"`, which exchange batches with the
            driver and with each other; or `"group-state"`, stateful operators of a streaming query
            (`applyInPandasWithState`), which Spark's pages and listeners show, with a higher cost
            per batch. Both read and write the same checkpoints.
        spark: The Spark session; by default the running session, or a new one.
        config: Spark settings for a new session.
        clock: The clock for wall-clock work.
        on_batch: A callback after each committed batch, in the thread of its query. The callback
            may call `close`, but not `run` or `drain`.
        migrate: After a change of the topology: the migration of each changed store, by its name.
            Ignored after the migration.
        reset: After a change of the topology: the names of stores that would be emptied or misread,
            to drop their old content. Ignored after the reset.
        on_more_partitions: The effect of a start after source topics have got partitions, for
            groups with stores: `"refuse"`, a `CheckpointMismatchError`; or `"rescale"`, which
            divides the state by its keys, as `kstreams rescale` does.
        fork: Without an existing checkpoint, start with a copy of another app's savepoint:
            `"<checkpoint>@<savepoint>"` or a `ForkSource`.
        retained_batches: The number of committed batches of each query that stay readable with
            `View(as_of=...)`; 2 or more.
        repin: Whether an uncommitted batch may read the newest version of a global table if the
            planned version is gone: the batch may then write other results to Kafka than in its
            first attempt. Without it, a missing version is a `VersionGoneError`.
        upkeep: The intervals of snapshots and merged deltas in the durable log.
        telemetry: The telemetry of the app; by default files in its checkpoint.

    Raises:
        CompileError: A setting is out of range.
        PluginError: No installed package supports the checkpoint's URL, or OpenTelemetry is enabled
            and not installed.
        SavepointError: The text of `fork` is not the name of a savepoint.
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
        engine: Literal["spark", "embedded"] = "spark",
        stage: Literal["workers", "group-state"] = "workers",
        spark: SparkSession | None = None,
        config: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        on_batch: Callable[[BatchReport], None] | None = None,
        migrate: Mapping[str, Migration] | None = None,
        reset: Collection[str] = (),
        on_more_partitions: Literal["refuse", "rescale"] = "refuse",
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
            on_more_partitions=RescaleSettings(only_more=True)
            if on_more_partitions == "rescale"
            else "refuse",
            fork=ForkSource.parse(fork) if isinstance(fork, str) else fork,
            retained_batches=retained_batches,
            repin=repin,
            upkeep=upkeep or Upkeep(),
            telemetry=telemetry or Telemetry(),
        )
        if engine == "embedded" and (spark is not None or config or stage != "workers"):
            raise CompileError(
                "spark=, config= and stage= are settings of Spark, and engine is 'embedded'",
                hint="leave them out, or use engine='spark'.",
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
            engine=_engine(engine, self._settings, spark, stage),
            run=run,
            watchers=watchers_of(self._settings, run, clock, lambda: self._run.paused.known),
        )
        self._run = AppRun(self._settings, self._parts)

    @property
    def state(self) -> AppState:
        """The state of the app."""
        return self._run.state

    @property
    def log(self) -> ObjectStoreSettings:
        """The settings of the durable log, for a `View` of the app's stores."""
        return self._settings.state.log or self._settings.checkpoint.log

    @property
    def failure(self) -> KStreamsError | None:
        """The error that made the app fail, or None."""
        return self._run.failure

    def on_state_change(self, listener: Callable[[AppState, AppState], None]) -> None:
        """Call `listener(old, new)` at each change of state, in the thread that changes it."""
        self._run.listeners.append(listener)

    def on_rebalance(self, listener: Callable[[Sequence[TaskMove]], None]) -> None:
        """Call `listener(moves)` when tasks ran on other workers than before.

        The listener is called after the first batch of each task, with `from_worker` None, and when
        another worker runs a task: because a worker died, an executor was added or lost, or Spark
        scheduled it there. The call comes after the commit of the batch, in the thread of
        `on_batch` and before it. An exception of the listener stops the app.

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
        """Run in this thread: to the current end, until stopped, or until the input ends.

        A run to the end processes the records that the sources have at its start, and all records
        that result from them inside the topology; queries run one after another, ordered by the
        dependencies of their topics, until no record is left. Otherwise the app runs until another
        thread calls `close`, or until SIGINT or SIGTERM, and stops after the current batch.

        In both cases the run ends earlier if the input ends. A bounded source (`items`,
        `bounded(log)`) ends with the records that it has at the start of the run. A source also
        ends when every path below it has a `limit` that is reached. When all sources have ended,
        the remaining records are processed, and the run ends. Topics of global tables do not keep a
        run open.

        Args:
            until: `"end"`, or None to run until stopped.
            timeout: Stop after this time. A run to the end raises an error if it has not reached
                the end.
            close_windows: For runs that end: close every open window at the end and release all
                buffered results, as if stream time had advanced that far; see `drain`.

        Raises:
            CompileError: `close_windows` for a run that does not end: without `until="end"`, a
                limit, or only bounded sources; or a node never emits without `close_windows`, such
                as `on_close()` with `UnlimitedWindows`.
            KStreamsError: The app failed; the failed batch was rolled back.
            ExecutionError: The timeout passed before the end was reached.
        """
        if close_windows and until != "end" and not ends_by_itself(self.topology):
            raise CompileError(
                "close_windows=True is for runs that end",
                hint="add until='end', or remove close_windows=True.",
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

        A failure shows in `state` and `failure`, and is raised by `close`. If the input ends (see
        `run`), the app stays open until `close`.

        Raises:
            CompileError: A node emits only at the end of a run that closes windows.
        """
        check_run_closes_windows(self.topology, _CLOSE_HINT)
        self._run.open()
        self._run.run_in_background()

    def open(self) -> None:
        """Check topics and checkpoint, acquire the lock and start the queries.

        `run` and `start` call it; call it yourself before several calls of `drain`.

        Raises:
            UnknownTopicError: The topic of a source does not exist.
            PartitionCountError: The topics of a group have different partition counts.
            CheckpointMismatchError: The checkpoint belongs to another app, or the topology has
                changed so that state would be emptied or misread. The hint has the next step.
            AppLockedError: Another app runs on the checkpoint.
        """
        self._run.open()
        self._run.finish_if_asked()

    def drain(self, *, timeout: timedelta | None = None, close_windows: bool = False) -> None:
        """Process all current records and their results, then return; the app stays open.

        The call also runs the wall-clock work that is due at its start. It returns early if the app
        is stopped.

        Args:
            timeout: The maximum time.
            close_windows: Whether to close the open windows afterwards, query by query, in one
                batch each. The windows of a node are closed up to the end of its last window with
                records: a later record for them is late. Stream time does not change.
                `UnlimitedWindows` close only if they emit `on_close()`.

        Raises:
            KStreamsError: A query failed.
            ExecutionError: The timeout has passed, the app is not open, or `start` runs it in the
                background.
        """
        try:
            self._run.drain(timeout, close_windows=close_windows)
        except KStreamsError as exc:
            raise shortened(exc) from exc.__cause__
        self._run.finish_if_asked()

    def close(self, timeout: timedelta = timedelta(seconds=60)) -> None:
        """Stop after the current batches; a second call does nothing.

        Any thread may call this. In a callback of the app (`on_batch`, a listener of
        `on_state_change`, a signal handler) the call only requests the stop, and returns
        immediately. No further batch begins, and `run`, `drain` or the thread of `start` closes the
        app.

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
        """Close the app."""
        self.close()


def _engine(
    name: str,
    settings: AppSettings,
    spark: SparkSession | None,
    stage: Literal["workers", "group-state"],
) -> Engine:
    """Return an engine; the modules of other engines are not imported."""
    if name == "embedded":
        from kstreams.local_workers.engine import EmbeddedEngine  # noqa: PLC0415  # see above

        return EmbeddedEngine(settings.parallelism)
    from kstreams.spark.engine import SparkEngine  # noqa: PLC0415  # see above

    return SparkEngine(settings, spark, stage)
