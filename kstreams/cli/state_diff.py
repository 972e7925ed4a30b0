"""`kstreams state diff`: what has changed in a store between two versions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.markup import escape

from kstreams.cli.consoles import counted, new_table, stderr, stdout
from kstreams.cli.counts import JsonOption
from kstreams.cli.stores import (
    AppArgument,
    AppState,
    CheckpointOption,
    KeyOption,
    LogOption,
    StoreArgument,
    TopologyOption,
    ValueOption,
)
from kstreams.serde.values import shown_by
from kstreams.views.flat_rows import columns_of, key_serde, rows_of
from kstreams.views.view import View

__all__ = ("diff",)

_Row = tuple[str, ...]

_BEFORE = Annotated[
    str,
    typer.Argument(
        metavar="BEFORE", help="A retained batch, or a savepoint's name.", show_default=False
    ),
]
_AFTER = Annotated[
    str | None,
    typer.Argument(metavar="AFTER", help="Another.", show_default="the newest version"),
]


def diff(
    app: AppArgument,
    store: StoreArgument,
    before: _BEFORE,
    after: _AFTER = None,
    limit: Annotated[int, typer.Option(min=0, metavar="N", help="At most; 0 for all.")] = 100,
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    topology: TopologyOption = None,
    key_format: KeyOption = None,
    value_format: ValueOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the rows of a store that differ between two versions: `-` before, `+` after.

    Both versions are whole commits, over all partitions. The rows of the earlier one are held
    in memory. A row that has changed is shown twice; in the order of keys as they are shown.

    Example:
        kstreams state diff shop counts before-upgrade
        kstreams state diff shop counts 1233 1234 --json
    """
    state = AppState.find(app, checkpoint, log)
    given = {"topology": topology, "key": key_format, "value": value_format}
    with (
        state.view(store, **given, as_of=before) as old,
        state.view(store, **given, as_of=after) as new,
    ):
        columns = columns_of(new)
        changes = _changes(_shown(old), _shown(new))
        versions = f"between versions {_version(old)} and {_version(new)}"
    chosen = changes[: limit or None]
    if as_json:
        for sign, row in chosen:
            print(json.dumps({"change": sign, **dict(zip(columns, row, strict=True))}))
    else:
        table = new_table("", *columns)
        for sign, row in chosen:
            color = "red" if sign == "-" else "green"
            table.add_row(f"[{color}]{sign}[/]", *map(escape, row))
        stdout().print(table)
    more = f", {len(chosen):,} of them shown: --limit 0 shows all"
    text = f"{counted(len(changes), 'changed row')} {versions}"
    stderr().print(f"[dim]{text}{more if len(chosen) < len(changes) else ''}[/]")


def _shown(view: View[object]) -> Iterator[_Row]:
    show = shown_by(view.spec.value, key_serde(view))
    return (tuple(map(show, row)) for row in rows_of(view))


def _changes(old: Iterator[_Row], new: Iterator[_Row]) -> list[tuple[str, _Row]]:
    """Return the rows that are in one alone, each with its sign."""
    left = Counter(old)
    added: list[_Row] = []
    for row in new:
        if left[row] > 0:
            left[row] -= 1
        else:
            added.append(row)
    changes = [("+", row) for row in added] + [("-", row) for row in left.elements()]
    return sorted(changes, key=lambda change: (change[1][0], change[0] == "+", change[1]))


def _version(view: View[object]) -> str:
    return "none" if view.version is None else f"{view.version:,}"
