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
from kstreams_cli.backends import state_backend
from kstreams_cli.consoles import stderr
from kstreams_cli.describe import TargetArgument
from kstreams_cli.forwarded import ForwardedOption, networks_of
from kstreams_cli.loading import load_topology
from kstreams_cli.moments import parse_span
from kstreams_cli.packages import PackageOption
from kstreams_cli.pairs import pairs_of
from kstreams_cli.place import Place
from kstreams_cli.progress import Progress, logging_to, shown_live
from kstreams_cli.serve_beside import ServeBeside
from kstreams_cli.upgrading import (
    MigrateOption,
    RenameOption,
    ResetOption,
    StoreDecisions,
    naming_this_command,
)
from kstreams_cli.usage import WrongUsageError, for_option

if TYPE_CHECKING:
    from kstreams.application.app import App
    from kstreams.batch.report import AppState

__all__ = ("Engine", "LogFormat", "Until", "run")

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


def run(
    context: typer.Context,
    place: Place,
    target: TargetArgument,
    app_id: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Names the checkpoint.", show_default="the topology's name"
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="What the app goes on from at its next run: a directory on a file system that "
            "all executors share, or a URL such as s3://bucket/app.",
            show_default=".kstreams/ID",
        ),
    ] = None,
    state: Annotated[
        str, typer.Option(metavar="BACKEND", help="Where stores are kept: memory, rocksdb.")
    ] = "memory",
    until: Annotated[
        Until | None,
        typer.Option(
            help="Stop when everything is processed that the topics hold at the start.",
            show_default="run until stopped, or until bounded sources and limits end the run",
        ),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="SPAN",
            help="Stop after this time; with --until end, fail when it is not reached.",
            show_default=False,
        ),
    ] = None,
    close_windows: Annotated[
        bool,
        typer.Option(
            "--close-windows",
            help="For runs that end: close the windows that are open then, and release what is "
            "held back.",
        ),
    ] = False,
    trigger: Annotated[
        str, typer.Option(metavar="SPAN", help="Least time between the starts of two batches.")
    ] = "100ms",
    max_records: Annotated[
        int,
        typer.Option(
            "--max-records-per-batch", min=1, metavar="N", help="Bounds the memory of a backlog."
        ),
    ] = 1_000_000,
    max_bytes: Annotated[
        int,
        typer.Option(
            "--max-bytes-per-batch",
            min=1,
            metavar="BYTES",
            help="The same for large records; a worker takes some five times that.",
        ),
    ] = 256 * 1024 * 1024,
    repin: Annotated[
        bool,
        typer.Option(
            "--repin",
            help="Let a batch that was planned read the newest version of a global table where "
            "its own is gone: what it has written to Kafka may differ then.",
        ),
    ] = False,
    exactly_once: Annotated[
        bool,
        typer.Option(
            "--exactly-once",
            help="On Kafka: publish a batch's results in one transaction after its commit, so that "
            "readers that are read_committed see each once. Embedded topics always do.",
        ),
    ] = False,
    serve: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="PORT",
            help="Answer queries at 127.0.0.1 by a process beside the app, as `kstreams serve` "
            "does; it ends with the app.",
            show_default=False,
        ),
    ] = None,
    forwarded_allow_ips: ForwardedOption = None,
    engine: Annotated[
        Engine,
        typer.Option(
            help="The engine that runs the tasks: spark, or embedded for processes on this machine "
            "without Spark and Java. Both continue from the same checkpoints.",
        ),
    ] = Engine.SPARK,
    spark_config: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A setting of Spark's, such as spark.master=local[4]; may be repeated.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None,
    log_format: Annotated[
        LogFormat,
        typer.Option(help="Of the log: json has fields such as app, query, batch, trace_id."),
    ] = LogFormat.TEXT,
    otel: Annotated[
        bool,
        typer.Option(
            "--otel",
            help="Send metrics and traces by OTLP; OTEL_EXPORTER_OTLP_ENDPOINT says where.",
        ),
    ] = False,
    package: PackageOption = None,
    reset: ResetOption = None,
    rename: RenameOption = None,
    migrate: MigrateOption = None,
) -> None:
    """Run a topology until Ctrl-C, or to the end of its topics.

    Ctrl-C and SIGTERM finish the current batch. The next run with the same id and checkpoint
    continues at exactly that position.

    Example:
        kstreams run word_count:topology --until end
        kstreams run word_count:build --state rocksdb --bootstrap localhost:9092
        kstreams run word_count:topology --engine embedded
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
    with for_option("MODULE:NAME"):
        topology = load_topology(target)
    with for_option("--close-windows"):
        if close_windows and until is None and not ends_by_itself(topology):
            raise WrongUsageError("--close-windows needs a run that ends: add --until end")
    with for_option("--forwarded-allow-ips"):
        beside = _beside(serve, target, place, forwarded_allow_ips)
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
            place.seen_once().connection if exactly_once else place.connection,
            state=backend,
            repin=repin,
            app_id=app_id,
            checkpoint=checkpoint,
            trigger=pause,
            max_records_per_batch=max_records,
            max_bytes_per_batch=max_bytes,
            packages=package or "auto",
            engine="embedded" if engine is Engine.EMBEDDED else "spark",
            config=settings or None,
            on_batch=progress.note,
            telemetry=Telemetry(otel=otel),
            migrate=decided.migrate,
            reset=decided.reset,
        )
        with naming_this_command(context):
            _run(
                app,
                progress,
                console,
                until="end" if until else None,
                timeout=patience,
                close_windows=close_windows,
                beside=beside,
            )


def _beside(
    port: int | None, target: str, place: Place, forwarded: str | None
) -> ServeBeside | None:
    """Return the server of the app, if one is requested."""
    networks = networks_of(forwarded)
    if port is not None:
        return ServeBeside(port, target, place.environment, networks)
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
    beside: ServeBeside | None,
) -> None:
    def changed(_: AppState, new: AppState) -> None:
        progress.status = "starting Spark" if new.value == "starting" else new.value
        if new.value == "running":
            progress.begin()
            if beside is not None:
                beside.start(str(app.checkpoint))
        if not console.is_terminal and new.value not in _SUMMARIZED:
            _LOG.info("app %s: %s", app.app_id, new.value)

    app.on_state_change(changed)
    try:
        with shown_live(progress, console, escape(app.app_id)):
            app.run(until=until, timeout=timeout, close_windows=close_windows)
    finally:
        if beside is not None:
            beside.stop()
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
