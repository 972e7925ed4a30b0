"""`kstreams pause` and `resume`: an app that plans nothing, until somebody says otherwise."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from kstreams.checkpoint.pause import pause as pause_app
from kstreams.checkpoint.pause import resume as resume_app
from kstreams.clock import SystemClock
from kstreams_admin.moments import iso
from kstreams_cli.consoles import stderr, stdout
from kstreams_cli.stores import AppArgument, AppState, CheckpointOption

__all__ = ("pause", "resume")


def pause(
    app: AppArgument,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why; shown wherever the pause is.")
    ] = "no reason was given",
    checkpoint: CheckpointOption = None,
) -> None:
    """Let an app plan no further batch, running or not, until it is resumed.

    A batch under way ends. Punctuators rest, too. A running app sees it within a second, with a
    checkpoint in object storage within some seconds; one that is started finds it. Restarts
    change nothing, a reset ends it. A run to the end of the topics is refused meanwhile.

    Example:
        kstreams pause word-count --reason "database migration"
    """
    state = AppState.find(app, checkpoint, None)
    found = pause_app(state.checkpoint.home, reason, SystemClock().now_ms())
    stdout().print(f"{escape(app)} is paused since {iso(found.since_ms)}: {escape(found.told)}")


def resume(app: AppArgument, checkpoint: CheckpointOption = None) -> None:
    """Resume a paused app at exactly the position where it stopped.

    Example:
        kstreams resume word-count
    """
    state = AppState.find(app, checkpoint, None)
    found = resume_app(state.checkpoint.home)
    if found is None:
        stderr().print(f"{escape(app)} was not paused.")
        return
    stdout().print(f"{escape(app)} goes on; it was paused since {iso(found.since_ms)}")
