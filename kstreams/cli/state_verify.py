"""`kstreams state verify`: is all there that the retained versions are made of?"""

from __future__ import annotations

import typer
from rich.markup import escape

from kstreams.cli.consoles import counted, new_table, shown_size, stderr, stdout
from kstreams.cli.stores import AppArgument, AppState, CheckpointOption, LogOption
from kstreams.cli.verification import Verification

__all__ = ("verify",)


def verify(app: AppArgument, checkpoint: CheckpointOption = None, log: LogOption = None) -> None:
    """Check all that an app would go on from: commits, plans, savepoints, and every object.

    Everything that the retained versions and savepoints name is read; the line of versions
    is recomputed from the deltas; commits and plans have to follow each other, and Spark
    may not have noted a batch that was not committed. Ends with exit code 1 when something
    is missing, or is not what was committed. What a running app's clean-up has collected
    meanwhile is no problem. Files that are not the app's are named.

    Example:
        kstreams state verify word-count
    """
    state = AppState.find(app, checkpoint, log)
    found = Verification(state.checkpoint, state.objects())
    table = new_table(
        "version", "versions", "objects", "size", numbers=("versions", "objects", "size")
    )
    for part in found.parts():
        label, versions = escape(part.label), f"{part.versions:,}"
        table.add_row(label, versions, f"{part.objects:,}", shown_size(part.size_bytes))
    stdout().print(table)
    for name in found.strays:
        stderr().print(f"[yellow]?[/] {escape(name)}: not the app's, and left alone")
    for name, problem in sorted(found.problems.items()):
        stderr().print(f"[red]✗[/] {escape(name)}: {escape(problem)}")
    if found.problems:
        raise typer.Exit(1)
    stderr().print(f"[green]✓[/] {counted(len(found.checked), 'object')} are what was committed.")
