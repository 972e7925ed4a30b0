"""`kstreams state verify`: check that all objects of the retained versions exist."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape

from kstreams_cli.consoles import counted, new_table, shown_size, stderr, stdout
from kstreams_cli.counts import JsonOption
from kstreams_cli.place import Place
from kstreams_cli.replaying import (
    ConnectionOption,
    RepeatCallsOption,
    RunTopologyOption,
    replayed_app,
)
from kstreams_cli.stores import AppArgument, AppState, CheckpointOption, LogOption
from kstreams_cli.usage import WrongUsageError
from kstreams_cli.verification import Part, Verification
from kstreams_explain.audit import AuditedTask, audit

__all__ = ("verify",)


def verify(
    place: Place,
    app: AppArgument,
    replay: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Replay N random retained batches of tasks, and compare the results with the "
            "commits.",
        ),
    ] = 0,
    topology: RunTopologyOption = None,
    connection: ConnectionOption = None,
    repeat_calls: RepeatCallsOption = False,
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the state of an app: commits, plans, savepoints, and all objects of the durable log.

    Use it after a failure of the storage, or before an upgrade. The command reads all objects of
    the retained versions and savepoints, recomputes the version ids from the deltas, and checks
    that commits and plans are consecutive and that each finished batch has a commit. The exit code
    is 1 if an object is missing or differs from the committed one. The app may run meanwhile:
    objects that its cleanup removes are not a problem. Files that do not belong to the app are
    listed.

    --replay N also replays N random retained batches of tasks with stores, with the code of
    --topology, and compares the changes byte by byte. A difference shows that a processor is not
    deterministic, or that its code has changed. The replay writes nothing.

    Example:
        kstreams state verify word-count
        kstreams state verify word-count --replay 20 --topology examples/word_count.py
    """
    if replay and topology is None:
        raise WrongUsageError(
            "--replay runs the code of the topology: add --topology MODULE:NAME", "--topology"
        )
    state = AppState.find(app, checkpoint, log)
    replayed = replayed_app(state, place, topology, connection, repeat_calls=repeat_calls)
    found = Verification(state.checkpoint, state.objects())
    parts = list(found.parts())
    audited = [] if replayed is None else list(audit(replayed, replay))
    if as_json:
        print(json.dumps(_plain(app, parts, found, audited)))
    else:
        _show_parts(parts, found)
        _show_audited(audited, wanted=replay)
    if found.problems or any(each.differs for each in audited):
        raise typer.Exit(1)


def _show_parts(parts: Sequence[Part], found: Verification) -> None:
    table = new_table(
        "query or savepoint",
        "versions",
        "objects",
        "size",
        numbers=("versions", "objects", "size"),
    )
    for part in parts:
        label, versions = escape(part.label), f"{part.versions:,}"
        table.add_row(label, versions, f"{part.objects:,}", shown_size(part.size_bytes))
    stdout().print(table)
    for name in found.strays:
        stderr().print(f"[yellow]?[/] {escape(name)}: does not belong to the app, not checked")
    for name, problem in sorted(found.problems.items()):
        stderr().print(f"[red]✗[/] {escape(name)}: {escape(problem)}")
    if not found.problems:
        stderr().print(
            f"[green]✓[/] {counted(len(found.checked), 'object')} checked, no differences from "
            "the commits."
        )


def _show_audited(audited: Sequence[AuditedTask], *, wanted: int) -> None:
    if not wanted:
        return
    for each in audited:
        label = escape(f"query {each.query!r}, batch {each.batch:,}, task {each.task}")
        if each.differs:
            stderr().print(f"[red]✗[/] {label} is not deterministic: {escape(each.differs)}")
        elif each.not_run:
            stderr().print(f"[yellow]?[/] {label} cannot be replayed: {escape(each.not_run)}")
    equal = sum(not each.differs and not each.not_run for each in audited)
    differing = sum(bool(each.differs) for each in audited)
    if not audited:
        stderr().print("[yellow]?[/] no retained batch of a task with stores can be replayed")
    elif not differing:
        stderr().print(
            f"[green]✓[/] {counted(equal, 'batch')} of tasks replayed, all equal to the commits."
        )
    else:
        stderr().print(f"[red]✗[/] {differing:,} of {len(audited):,} replayed batches differ.")


def _plain(
    app: str, parts: Sequence[Part], found: Verification, audited: Sequence[AuditedTask]
) -> dict[str, object]:
    return {
        "app": app,
        "versions": [vars(part) for part in parts],
        "objects": len(found.checked),
        "problems": dict(sorted(found.problems.items())),
        "strays": list(found.strays),
        "replayed": [each.to_json() for each in audited],
    }
