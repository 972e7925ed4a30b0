"""`kstreams run`: run a topology as an app, in this process."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape

from kstreams.checkpoint.storage.telemetry_settings import Telemetry
from kstreams.errors import PluginError
from kstreams.graph.limits import ends_by_itself
from kstreams_cli.backends import StateOption, state_backend
from kstreams_cli.consoles import stderr
from kstreams_cli.describe import TargetArgument
from kstreams_cli.forwarded import ForwardedOption, networks_of
from kstreams_cli.loading import load_topology
from kstreams_cli.moments import parse_span
from kstreams_cli.packages import PackageOption
from kstreams_cli.pairs import pairs_of
from kstreams_cli.place import Place
from kstreams_cli.progress import Progress, logging_to, shown_live
from kstreams_cli.server_process import ServerProcess
from kstreams_cli.stores import AppIdOption
from kstreams_cli.upgrading import (
    MigrateOption,
    MorePartitions,
    MorePartitionsOption,
    RenameOption,
    ResetOption,
    StoreDecisions,
    naming_this_command,
)
from kstreams_cli.usage import WrongUsageError, for_option

if TYPE_CHECKING:
    from kstreams.application.app import App
    from kstreams.batch.report import AppState

__all__ = ("Engine", "LogFormat", "Stage", "Until", "run")

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_PANEL = "Spark"
_SUMMARIZED = ("stopped", "failed")
"""The final states that the summary shows, with the duration of the run."""


class LogFormat(str, Enum):
    """The format of log lines."""

    TEXT = "text"
    JSON = "json"


class Until(str, Enum):
    """The condition that ends a run."""

    END = "end"


class Engine(str, Enum):
    """The engine that runs the tasks of an app."""

    SPARK = "spark"
    EMBEDDED = "embedded"


class Stage(str, Enum):
    """The form in which partition groups run on Spark."""

    WORKERS = "workers"
    GROUP_STATE = "group-state"


def run(
    context: typer.Context,
    place: Place,
    target: TargetArgument,
    app_id: AppIdOption = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="LOCATION",
            help="Checkpoint, from which the next run of the app continues: a directory on a file "
            "system that all executors share, or a URL such as s3://bucket/app.",
            show_default=".kstreams/ID",
        ),
    ] = None,
    state: StateOption = "memory",
    until: Annotated[
        Until | None,
        typer.Option(
            help="Stop after processing the records that the topics contain at the start.",
            show_default="run until Ctrl-C, or until bounded sources and limits end the run",
        ),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="SPAN",
            help="Maximum duration of the run, such as 30s or 5m. The app stops after this time; "
            "with --until end, the command fails if the end is not reached by then.",
            show_default="no limit",
        ),
    ] = None,
    close_windows: Annotated[
        bool,
        typer.Option(
            "--close-windows",
            help="At the end of the run, close all open windows and emit the results that are "
            "held back. Requires a run that ends, for example with --until end.",
        ),
    ] = False,
    trigger: Annotated[
        str,
        typer.Option(metavar="SPAN", help="Minimum interval between the starts of two batches."),
    ] = "100ms",
    max_records: Annotated[
        int,
        typer.Option(
            "--max-records-per-batch",
            min=1,
            metavar="N",
            help="Maximum number of records per batch. Limits the memory that a backlog needs.",
        ),
    ] = 1_000_000,
    max_bytes: Annotated[
        int,
        typer.Option(
            "--max-bytes-per-batch",
            min=1,
            metavar="BYTES",
            help="Maximum size of the records of a batch, in bytes. A worker needs about five "
            "times this memory.",
        ),
    ] = 256 * 1024 * 1024,
    repin: Annotated[
        bool,
        typer.Option(
            "--repin",
            help="Let an uncommitted batch read the newest version of a global table if the "
            "planned version was deleted. A retry of the batch may then write other records to "
            "Kafka than its first attempt.",
        ),
    ] = False,
    exactly_once: Annotated[
        bool,
        typer.Option(
            "--exactly-once",
            help="Publish the results of a batch to Kafka in one transaction after the commit of "
            "the batch, so that consumers with isolation.level=read_committed see each result "
            "once. Embedded topics always have this guarantee.",
        ),
    ] = False,
    serve: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="PORT",
            help="Serve queries over HTTP at this port of 127.0.0.1, like `kstreams serve`, in a "
            "separate process that ends with the app. 0 selects a free port.",
            show_default="no server",
        ),
    ] = None,
    forwarded_allow_ips: ForwardedOption = None,
    engine: Annotated[
        Engine,
        typer.Option(
            help="Engine that runs the tasks: spark, or embedded for processes on this machine "
            "without Spark and Java. Both continue from the same checkpoints.",
        ),
    ] = Engine.SPARK,
    stage: Annotated[
        Stage,
        typer.Option(
            help="How partition groups run on Spark: in long-running workers, or as stateful "
            "operators (group-state) of a streaming query, which Spark's pages show and which "
            "cost more per batch. Both continue from the same checkpoints.",
            rich_help_panel=_PANEL,
        ),
    ] = Stage.WORKERS,
    spark_config: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Spark configuration property, such as spark.master=local[4]. Can be repeated.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None,
    log_format: Annotated[
        LogFormat,
        typer.Option(
            help="Format of log lines. json prints one object per line, with fields such as app, "
            "query, batch and trace_id."
        ),
    ] = LogFormat.TEXT,
    otel: Annotated[
        bool,
        typer.Option(
            "--otel",
            help="Export metrics and traces by OTLP over HTTP. OTEL_EXPORTER_OTLP_ENDPOINT is the "
            "endpoint, http://localhost:4318 by default.",
        ),
    ] = False,
    package: PackageOption = None,
    reset: ResetOption = None,
    rename: RenameOption = None,
    migrate: MigrateOption = None,
    on_more_partitions: MorePartitionsOption = MorePartitions.REFUSE,
) -> None:
    """Run a topology as an app, on Spark or on the embedded engine.

    The app runs until Ctrl-C. Use --until end to process the current records of the topics and
    exit, for example in tests and scheduled jobs. Ctrl-C and SIGTERM finish the current batch. The
    next run with the same id and checkpoint continues at exactly that position.

    Example:
        kstreams run word_count:topology --until end
        kstreams run word_count:build --state rocksdb --bootstrap localhost:9092
        kstreams run word_count:topology --engine embedded
        kstreams run word_count:topology --stage group-state
        kstreams run word_count:topology --serve 8080
        kstreams run word_count:topology --rename counts=totals
    """
    console = stderr()
    with for_option("--trigger"):
        pause = parse_span(trigger)
    with for_option("--timeout"):
        patience = None if timeout is None else parse_span(timeout)
    backend = state_backend(state)
    settings = pairs_of(spark_config or (), "--spark-config")
    with for_option("--spark-config"):
        if settings and engine is Engine.EMBEDDED:
            raise WrongUsageError("--engine embedded runs without Spark: leave out --spark-config")
    with for_option("--stage"):
        if stage is not Stage.WORKERS and engine is Engine.EMBEDDED:
            raise WrongUsageError("--engine embedded runs without Spark: leave out --stage")
    with for_option("MODULE:NAME"):
        topology = load_topology(target)
    with for_option("--close-windows"):
        if close_windows and until is None and not ends_by_itself(topology):
            raise WrongUsageError("--close-windows needs a run that ends: add --until end")
    with for_option("--forwarded-allow-ips"):
        server_process = _server_process(serve, target, place, forwarded_allow_ips)
    decided = StoreDecisions.of(topology, reset, rename, migrate)
    from kstreams.application.app import App  # noqa: PLC0415  # usage errors need no pyspark

    progress = Progress(
        [groups[0].name for groups in topology.pipelines()],
        logs=not console.is_terminal,
    )
    name = app_id or topology.name
    log = logging_to(console, name if log_format is LogFormat.JSON else None)
    with log, _exporting(name, wanted=otel):
        app = App(
            topology,
            place.exactly_once().connection if exactly_once else place.connection,
            state=backend,
            repin=repin,
            app_id=app_id,
            checkpoint=checkpoint,
            trigger=pause,
            max_records_per_batch=max_records,
            max_bytes_per_batch=max_bytes,
            packages=package or "auto",
            engine=engine.value,
            stage=stage.value,
            config=settings or None,
            on_batch=progress.note,
            telemetry=Telemetry(otel=otel),
            migrate=decided.migrate,
            reset=decided.reset,
            on_more_partitions=on_more_partitions.value,
        )
        with naming_this_command(context):
            _run(
                app,
                progress,
                console,
                until="end" if until else None,
                timeout=patience,
                close_windows=close_windows,
                server_process=server_process,
            )


def _server_process(
    port: int | None, target: str, place: Place, forwarded: str | None
) -> ServerProcess | None:
    """Return the server to run as a child process of the app; None without `--serve`.

    Args:
        port: The value of `--serve`.
        target: The topology, as MODULE:NAME.
        place: The connection of topics.
        forwarded: The value of `--forwarded-allow-ips`.
    """
    networks = networks_of(forwarded)
    if port is not None:
        return ServerProcess(port, target, place.environment, networks)
    if networks:
        raise WrongUsageError("--forwarded-allow-ips needs --serve PORT")
    return None


def _exporting(app: str, *, wanted: bool) -> AbstractContextManager[None]:
    if not wanted:
        return nullcontext()
    try:
        from kstreams_otel.export import exporting  # noqa: PLC0415  # needs the extra
    except ImportError as exc:
        raise PluginError(
            f"--otel needs OpenTelemetry: {exc}", hint="pip install 'kstreams-spark[otel]'."
        ) from exc
    return exporting(app)


def _run(
    app: App,
    progress: Progress,
    console: Console,
    *,
    until: Literal["end"] | None,
    timeout: timedelta | None,
    close_windows: bool,
    server_process: ServerProcess | None,
) -> None:
    def changed(_: AppState, new: AppState) -> None:
        progress.status = "starting Spark" if new.value == "starting" else new.value
        if new.value == "running":
            progress.begin()
            if server_process is not None:
                server_process.start(str(app.checkpoint))
        if not console.is_terminal and new.value not in _SUMMARIZED:
            _LOG.info("app %s: %s", app.app_id, new.value)

    app.on_state_change(changed)
    try:
        with shown_live(progress, console, escape(app.app_id)):
            app.run(until=until, timeout=timeout, close_windows=close_windows)
    finally:
        if server_process is not None:
            server_process.stop()
        _summarize(app, progress, console)


def _summarize(app: App, progress: Progress, console: Console) -> None:
    seconds = progress.seconds()
    if not console.is_terminal:
        for line in progress.lines():
            _LOG.info("%s", line)
        _LOG.info("app %s: %s after %.1f s", app.app_id, app.state.value, seconds)
        return
    mark = "[red]✗[/]" if app.failure else "[green]✓[/]"
    console.print(
        f"{mark} [bold]{escape(app.app_id)}[/] {app.state.value} after {seconds:,.1f} s\n"
    )
    console.print(progress.table(final=True))
    console.print(f"\n[dim]checkpoint {escape(str(app.checkpoint))}[/]")
