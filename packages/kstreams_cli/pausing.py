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
        str, typer.Option(metavar="TEXT", help="Reason, which is shown with the pause.")
    ] = "no reason was given",
    checkpoint: CheckpointOption = None,
) -> None:
    """Pause an app, running or not: it plans no further batch until `kstreams resume`.

    Use it during the maintenance of a system that the app reads or writes. The current batch
    completes. Punctuators do not run during the pause. A running app detects the pause within a
    second, or within some seconds if its checkpoint is in object storage. The pause remains after
    restarts; a reset ends it. During the pause, runs with --until end are rejected.

    Example:
        kstreams pause word-count --reason "database migration"
    """
    state = AppState.find(app, checkpoint, None)
    found = pause_app(state.checkpoint.home, reason, SystemClock().now_ms())
    stdout().print(f"{escape(app)} is paused since {iso(found.since_ms)}: {escape(found.shown)}")


def resume(app: AppArgument, checkpoint: CheckpointOption = None) -> None:
    """Resume a paused app.

    Use it to end `kstreams pause`. The app continues at exactly the position where it stopped. A
    running app resumes by itself; it does not need to be restarted.

    Example:
        kstreams resume word-count
    """
    state = AppState.find(app, checkpoint, None)
    found = resume_app(state.checkpoint.home)
    if found is None:
        stderr().print(f"{escape(app)} is not paused.")
        return
    stdout().print(f"Resumed {escape(app)}. It was paused since {iso(found.since_ms)}.")
