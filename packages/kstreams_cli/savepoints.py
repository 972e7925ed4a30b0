"""`kstreams state savepoint|fork`: keep a version, and start another app from it."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timezone
from typing import Annotated

import typer
from rich.markup import escape

from kstreams.checkpoint.savepoint.fork import ForkSource
from kstreams.checkpoint.savepoint.fork import fork as fork_app
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.clock import SystemClock
from kstreams.errors import StateCorruptError
from kstreams_cli.consoles import stdout
from kstreams_cli.moments import parse_moment
from kstreams_cli.stores import (
    AppArgument,
    AppState,
    CheckpointOption,
    LogOption,
    find_home,
    load_log,
)
from kstreams_cli.usage import for_option

__all__ = ("fork", "savepoint")


def savepoint(
    app: AppArgument,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The savepoint's name.", show_default=False)
    ],
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Let clean-up have it, instead of making it.")
    ] = False,
) -> None:
    """Keep the last committed version of an app, with its offsets, under a name.

    The app may run meanwhile. Nothing is copied: cleanup retains the objects of a savepoint. Each
    query is kept at its last batch.

    Example:
        kstreams state savepoint word-count before-upgrade
        kstreams state savepoint word-count before-upgrade --delete
    """
    state = AppState.find(app, checkpoint, log)
    savepoints = Savepoints(state.checkpoint, state.objects())
    if delete:
        with suppress(StateCorruptError):  # one that cannot be read can be deleted all the same
            savepoints.load(name)
        savepoints.delete(name)
        stdout().print(f"Deleted savepoint [bold]{escape(name)}[/] of {escape(app)}.")
        return
    made = savepoints.create(name, SystemClock())
    kept = ", ".join(f"{query} at batch {c.batch:,}" for query, c in made.commits.items())
    stdout().print(f"Savepoint [bold]{escape(name)}[/] of {escape(app)}: {escape(kept)}.")


def fork(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PLACE@NAME",
            help="The original's checkpoint, a directory or a URL, and its savepoint.",
            show_default=False,
        ),
    ],
    app: Annotated[
        str, typer.Argument(metavar="APP", help="The new app's id.", show_default=False)
    ],
    checkpoint: CheckpointOption = None,
    source_log: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME",
            help="The original's durable log, if it is not in its checkpoint.",
            show_default=False,
        ),
    ] = None,
    log: LogOption = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Read from this time on in every source, for topics that are not the "
            "original's own.",
            show_default="the savepoint's offsets",
        ),
    ] = None,
) -> None:
    """Create a checkpoint for a new app from a savepoint of another app.

    The original app is not changed. Run the new app with its id and checkpoint: it starts with
    the state and the offsets of the savepoint. A changed topology is upgraded at that start.

    Example:
        kstreams state fork .kstreams/word-count@before-upgrade word-count-2
        kstreams state fork /mnt/live@monday trial --start 2024-05-01T00:00:00Z
    """
    with for_option("PLACE@NAME"):
        parsed = ForkSource.parse(source)
    with for_option("--start"):
        moment = None if start is None else _at(parse_moment(start))
    origin = ForkSource(
        parsed.checkpoint,
        parsed.savepoint,
        log=None if source_log is None else load_log(source_log),
        start=moment,
    )
    target = find_home(app, checkpoint).named
    made = fork_app(origin, target, app, log=None if log is None else load_log(log))
    stdout().print(
        f"Forked [bold]{escape(app)}[/] at [cyan]{escape(str(made.home))}[/] from "
        f"{escape(str(origin))}."
    )


def _at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, timezone.utc)
