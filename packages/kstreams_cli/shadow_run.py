"""`kstreams shadow run`: run a changed topology next to an app, and compare the results."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import ExitStack
from typing import Annotated

import typer
from rich.live import Live

from kstreams.batch.signals import stopping_on_signals
from kstreams_cli.backends import StateOption
from kstreams_cli.consoles import counted, stderr
from kstreams_cli.counts import JsonOption
from kstreams_cli.place import Place
from kstreams_cli.replaying import RepeatCallsOption
from kstreams_cli.shadow_options import NewArgument, OldArgument, ShadowOption, shadow_settings
from kstreams_cli.shadow_report import report_table, show_report
from kstreams_cli.stores import AppIdOption, CheckpointOption, LogOption
from kstreams_cli.upgrading import MigrateOption, RenameOption, ResetOption
from kstreams_shadow.shadow_run import ShadowRun

__all__ = ("run",)

_POLL_S = 0.1
_LINE_S = 5.0


def run(
    place: Place,
    app: OldArgument,
    target: NewArgument,
    savepoint: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="SAVEPOINT",
            help="Savepoint of the app that the shadow starts from; without it, a shadow that was "
            "started before continues.",
            show_default=False,
        ),
    ] = None,
    until_caught_up: Annotated[
        bool,
        typer.Option(
            "--until-caught-up", help="End when all committed batches of the app are compared."
        ),
    ] = False,
    batches: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="End after N batches.", show_default=False),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=0, metavar="N", help="Maximum number of examples per row.")
    ] = 5,
    app_id: AppIdOption = None,
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    shadow: ShadowOption = None,
    state: StateOption = "memory",
    reset: ResetOption = None,
    rename: RenameOption = None,
    migrate: MigrateOption = None,
    repeat_calls: RepeatCallsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a changed topology on the input of an app, and compare its results with the app's.

    Use it before a deployment. The command forks the savepoint twice: for the topology of the app
    and for the changed one. Both forks read the input of each batch that the app commits, with the
    same wall time. Their results are held back: nothing is written to topics, databases or
    functions. Results are compared batch by batch, in their order within each key; stores are
    compared row by row at the end. The app is not changed and may run meanwhile.

    Without --until-caught-up and --batches, the command follows the app until SIGINT or SIGTERM. It
    can be killed and continued at any time. The exit code is 1 if a result or a row of a store
    differs.

    Example:
        kstreams state savepoint shop before
        kstreams shadow run shop:topology shop_next:topology --from before --until-caught-up
        kstreams explain shop-shadow-new totals 17 --checkpoint .kstreams/shop-shadow/new \
--topology shop_next:topology
    """
    settings = shadow_settings(
        place,
        app,
        target,
        app_id=app_id,
        checkpoint=checkpoint,
        log=log,
        shadow=shadow,
        state=state,
        repeat_calls=repeat_calls,
        decisions=(reset, rename, migrate),
    )
    stop = threading.Event()
    restore = stopping_on_signals(stop)
    try:
        with ShadowRun(settings, savepoint) as found:
            _follow(found, stop, until_caught_up=until_caught_up, batches=batches)
            found.compare_stores()
            report = found.report
    finally:
        restore()
    name = app_id or settings.old.topology.name
    show_report(name, report, limit=limit, as_json=as_json)
    if not report.is_equal:
        raise typer.Exit(1)


def _follow(
    shadow: ShadowRun, stop: threading.Event, *, until_caught_up: bool, batches: int | None
) -> None:
    console, last = stderr(), shadow.report.batches + (batches or sys.maxsize)
    shown_at = time.monotonic()
    with ExitStack() as shown:
        if console.is_terminal:
            shown.enter_context(
                Live(
                    get_renderable=lambda: report_table(shadow.report),
                    console=console,
                    transient=True,
                )
            )
        while not stop.is_set() and shadow.report.batches < last:
            stepped = shadow.step()
            if stepped is None and until_caught_up:
                return
            if stepped is None:
                stop.wait(_POLL_S)
            elif not console.is_terminal and time.monotonic() - shown_at >= _LINE_S:
                shown_at = time.monotonic()
                done = counted(shadow.report.batches, "batch")
                console.print(f"{done} compared, {stepped.behind:,} behind")
