"""The program `kstreams`: its commands, in the order of its help."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

from kstreams.cli.consoles import stdout  # isort: skip  # tells of a missing extra

import typer

from kstreams.cli.command import add_command
from kstreams.cli.counts import counts
from kstreams.cli.describe import describe
from kstreams.cli.explain import explain
from kstreams.cli.forecast import forecast
from kstreams.cli.health import health
from kstreams.cli.intake import intake
from kstreams.cli.pausing import pause, resume
from kstreams.cli.plan import plan
from kstreams.cli.produce import produce
from kstreams.cli.reset import reset
from kstreams.cli.run import run
from kstreams.cli.savepoints import fork, savepoint
from kstreams.cli.serdes import list_serdes
from kstreams.cli.serve import serve
from kstreams.cli.state import get, list_stores, scan
from kstreams.cli.state_diff import diff
from kstreams.cli.state_export import export
from kstreams.cli.state_restore import restore
from kstreams.cli.state_verify import verify
from kstreams.cli.tail import tail
from kstreams.cli.topics import create, delete, describe_topic, list_topics
from kstreams.cli.topics_replay import replay
from kstreams.cli.trace import trace
from kstreams.cli.warm_up import warm_up

__all__ = ("PROGRAM",)

PROGRAM = typer.Typer(
    name="kstreams",
    help="Typed stream processing on Spark: topics, topologies, apps.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
"""The whole command line."""

_TOPICS = typer.Typer(
    help="Create topics, look into them, write to them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


_STATE = typer.Typer(
    help="Look into an app's stores while it runs or when it is gone; keep and copy versions.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def _show_version(wanted: bool) -> None:
    if not wanted:
        return
    try:
        ours = version("kstreams-spark")
    except PackageNotFoundError:
        ours = "(not installed)"
    spark = version("pyspark")
    stdout().print(f"kstreams {ours} (PySpark {spark}, Python {platform.python_version()})")
    raise typer.Exit


@PROGRAM.callback()
def _program(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Typed stream processing on Spark: topics, topologies, apps."""


add_command(PROGRAM, "run", run)
add_command(PROGRAM, "describe", describe)
add_command(PROGRAM, "counts", counts)
add_command(PROGRAM, "health", health)
add_command(PROGRAM, "pause", pause)
add_command(PROGRAM, "resume", resume)
add_command(PROGRAM, "plan", plan)
add_command(PROGRAM, "explain", explain)
add_command(PROGRAM, "trace", trace)
add_command(PROGRAM, "forecast", forecast)
add_command(PROGRAM, "reset", reset)
add_command(PROGRAM, "intake", intake)
add_command(PROGRAM, "serve", serve)
add_command(PROGRAM, "serdes", list_serdes)
add_command(PROGRAM, "warm-up", warm_up)
add_command(_TOPICS, "create", create)
add_command(_TOPICS, "list", list_topics)
add_command(_TOPICS, "describe", describe_topic)
add_command(_TOPICS, "produce", produce)
add_command(_TOPICS, "tail", tail)
add_command(_TOPICS, "replay", replay)
add_command(_TOPICS, "delete", delete)
PROGRAM.add_typer(_TOPICS, name="topics")
add_command(_STATE, "list", list_stores)
add_command(_STATE, "get", get)
add_command(_STATE, "scan", scan)
add_command(_STATE, "diff", diff)
add_command(_STATE, "export", export)
add_command(_STATE, "verify", verify)
add_command(_STATE, "savepoint", savepoint)
add_command(_STATE, "fork", fork)
add_command(_STATE, "restore", restore)
PROGRAM.add_typer(_STATE, name="state")
