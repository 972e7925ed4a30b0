"""The program `kstreams`: its commands, in the order of its help."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

from kstreams_cli.consoles import stdout  # isort: skip  # reports a missing extra

import typer

from kstreams_cli.late_group import late_group

__all__ = ("APPS", "PROGRAM", "SHADOW", "STATE", "TOPICS")

APPS = {
    "new": "new:new",
    "run": "run:run",
    "describe": "describe:describe",
    "counts": "counts:counts",
    "health": "health:health",
    "pause": "pausing:pause",
    "resume": "pausing:resume",
    "plan": "plan:plan",
    "rescale": "rescale:rescale",
    "explain": "explain:explain",
    "trace": "trace:trace",
    "forecast": "forecast:forecast",
    "reset": "reset:reset",
    "intake": "intake:intake",
    "serve": "serve:serve",
    "serdes": "serdes:list_serdes",
    "warm-up": "warm_up:warm_up",
}
"""The function (MODULE:NAME) of each command, in the order of the help; see `late_group`."""

TOPICS = {
    "create": "topics:create",
    "list": "topics:list_topics",
    "describe": "topics:describe_topic",
    "produce": "produce:produce",
    "tail": "tail:tail",
    "replay": "topics_replay:replay",
    "delete": "topics:delete",
}
"""The commands of `kstreams topics`, as in `APPS`."""

STATE = {
    "list": "state:list_stores",
    "get": "state:get",
    "scan": "state:scan",
    "diff": "state_diff:diff",
    "export": "state_export:export",
    "verify": "state_verify:verify",
    "savepoint": "savepoints:savepoint",
    "fork": "savepoints:fork",
    "restore": "state_restore:restore",
}
"""The commands of `kstreams state`, as in `APPS`."""

SHADOW = {
    "run": "shadow_run:run",
    "status": "shadow_report:status",
    "cut-over": "shadow_cut_over:cut_over",
}
"""The commands of `kstreams shadow`, as in `APPS`."""

PROGRAM = typer.Typer(
    name="kstreams",
    cls=late_group(APPS, open_to_plugins=True),
    help="Run, inspect and operate stream processing applications on Spark.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
"""The whole command line."""

_TOPICS = typer.Typer(
    cls=late_group(TOPICS),
    help="Create, inspect, read, write and delete topics.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_STATE = typer.Typer(
    cls=late_group(STATE),
    help="Read, export, check and restore the state stores of an app; manage savepoints.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_SHADOW = typer.Typer(
    cls=late_group(SHADOW),
    help="Run a changed topology next to an app, compare both, and make it the app.",
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
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Run, inspect and operate stream processing applications on Spark."""


PROGRAM.add_typer(_TOPICS, name="topics")
PROGRAM.add_typer(_STATE, name="state")
PROGRAM.add_typer(_SHADOW, name="shadow")
