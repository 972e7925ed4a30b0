"""`kstreams pause` and `resume`: a paused app plans no batches until it is resumed."""

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
    """Pause an app, running or not: it plans no further batch until it is resumed.

    The current batch completes. Punctuators do not run, either. A running app sees the pause within
    a second, or within some seconds if its checkpoint is in object storage. The pause outlasts
    restarts; a reset ends it. Runs to the end of the topics (--until end) are rejected meanwhile.

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
