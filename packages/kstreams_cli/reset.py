"""`kstreams reset`: remove the checkpoint of an app, so that the app starts fresh."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from kstreams.checkpoint.admin.reset_targets import Leftover, Survey
from kstreams.state.backend.memory import Memory
from kstreams_admin.reset import reset as reset_app
from kstreams_admin.reset import survey
from kstreams_cli.consoles import counted, new_table, shown_size, stderr, stdout
from kstreams_cli.stores import CheckpointOption, LogOption, find_home, load_log

__all__ = ("reset",)


def reset(
    app_id: Annotated[
        str,
        typer.Argument(
            metavar="APP",
            help="App id. By default, an app has the name of its topology as its id.",
            show_default=False,
        ),
    ],
    checkpoint: CheckpointOption = None,
    state_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Directory of the app's state backend, if the app sets one. The command then "
            "also removes the local state of the app from it.",
            show_default=False,
        ),
    ] = None,
    log: LogOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Reset an app: remove its checkpoint and its local state.

    Use it to process all input again. The next run of the app reads its input from the start of
    each source. Data that a source has deleted (files, changes of a replication slot) is not read
    again; the command lists such sources. Output and changelog topics stay: delete them first,
    otherwise they will contain results twice.

    Objects of a durable log outside of the checkpoint directory are only removed with --log, and
    only those of this app. The command fails while the app runs; with a checkpoint in object
    storage, a running app stops before its next batch.

    Example:
        kstreams reset word-count
        kstreams reset word-count --checkpoint /mnt/checkpoints/word-count --yes
        kstreams reset shop --log shop.app:STATE
    """
    backend = None
    if state_dir is not None or log is not None:
        backend = Memory(
            directory=None if state_dir is None else str(state_dir.absolute()),
            log=None if log is None else load_log(log),
        )
    place = find_home(app_id, checkpoint).named
    found = survey(app_id, checkpoint=place, state=backend)
    if not yes:
        _show(found)
        typer.confirm(f"Remove this data and reset {app_id}?", abort=True, err=True)
    report = _show_gone if yes else _ignore
    removed = reset_app(app_id, checkpoint=place, state=backend, report=report)
    size = sum(leftover.size_bytes for leftover in removed.leftovers)
    objects = f" and {counted(removed.objects, 'object')}" if removed.objects else ""
    stdout().print(
        f"Reset [bold]{escape(app_id)}[/]: {shown_size(size)}{objects} removed. "
        "The next run reads its input from the start of each source. Output topics are unchanged."
    )


def _show_gone(sentence: str) -> None:
    stderr().print(f"[yellow]{escape(sentence)}[/]")


def _ignore(_: str) -> None:
    """Ignore a sentence of `reset`: the confirmation prompt has already shown the sentence."""


def _show(found: Survey) -> None:
    table = new_table("data", "directory", "files", "size", numbers=("files", "size"))
    parts: list[tuple[str, Leftover]] = []
    if found.checkpoint is not None:
        parts.append(("checkpoint", found.checkpoint))
    parts += [("local state", leftover) for leftover in found.local]
    parts += [("interrupted reset", leftover) for leftover in found.interrupted]
    for what, leftover in parts:
        path = escape(str(leftover.path))
        table.add_row(
            what, f"[cyan]{path}[/]", f"{leftover.files:,}", shown_size(leftover.size_bytes)
        )
    console = stderr()
    console.print(f"The reset of app [bold]{escape(found.app_id)}[/] removes this data:\n")
    console.print(table)
    if found.objects:
        console.print(f"\nIt also removes {counted(found.objects, 'object')} of the durable log.")
    elif _log_is_elsewhere(found):
        console.print(
            "\n[yellow]The durable log is outside of the checkpoint: add --log to remove its "
            "objects, too.[/]"
        )
    if found.savepoints:
        names = escape(", ".join(found.savepoints))
        console.print(f"\n[yellow]It also removes these savepoints:[/] {names}")
    console.print(
        "\nThe next run reads its input from the start of each source. Output topics are unchanged."
    )
    for sentence in found.not_again:
        _show_gone(sentence)
    console.print()


def _log_is_elsewhere(found: Survey) -> bool:
    """Return whether an app with commits has its log outside of the checkpoint directory."""
    if found.checkpoint is None or not (found.checkpoint.path / "queries").is_dir():
        return False
    return not (found.checkpoint.path / "state").is_dir()
