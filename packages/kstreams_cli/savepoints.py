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
        str, typer.Argument(metavar="NAME", help="Name of the savepoint.", show_default=False)
    ],
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete the savepoint instead of creating it.")
    ] = False,
) -> None:
    """Create a savepoint: a name for the last committed version of an app, which is then retained.

    Create a savepoint before an upgrade, to read the old state later or to fork an app from it. The
    app may run meanwhile. A savepoint contains the state and the offsets of the last batch of each
    query. It copies no data: cleanup retains its objects until the savepoint is deleted.

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
    stdout().print(f"Created savepoint [bold]{escape(name)}[/] of {escape(app)}: {escape(kept)}.")


def fork(
    source: Annotated[
        str,
        typer.Argument(
            metavar="CHECKPOINT@NAME",
            help="Checkpoint of the original app, a directory or a URL, and name of its savepoint.",
            show_default=False,
        ),
    ],
    app: Annotated[
        str, typer.Argument(metavar="APP", help="App id of the new app.", show_default=False)
    ],
    checkpoint: CheckpointOption = None,
    source_log: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME",
            help="Durable log of the original app, if it is outside of the checkpoint.",
            show_default=False,
        ),
    ] = None,
    log: LogOption = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Read every source from this time on, such as 2024-05-01T12:00:00Z. Use it if "
            "the new app reads other topics than the original app.",
            show_default="the offsets of the savepoint",
        ),
    ] = None,
) -> None:
    """Create a checkpoint for a new app from a savepoint of another app.

    Use it to try a change on a copy of the state. The original app is not changed. Run the new app
    with its id and checkpoint: it starts with the state and the offsets of the savepoint. If the
    topology has changed, this start upgrades the state.

    Example:
        kstreams state fork .kstreams/word-count@before-upgrade word-count-2
        kstreams state fork /mnt/live@monday trial --start 2024-05-01T00:00:00Z
    """
    with for_option("CHECKPOINT@NAME"):
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
        f"{escape(str(origin))}.",
        soft_wrap=True,
    )


def _at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, timezone.utc)
