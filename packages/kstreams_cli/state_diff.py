"""`kstreams state diff`: the changes of a store between two versions."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.markup import escape

from kstreams.views.view import View
from kstreams_admin.difference import changed_rows
from kstreams_admin.flat_rows import columns_of, key_serde
from kstreams_admin.values import shown_by
from kstreams_cli.consoles import counted, new_table, stderr, stdout
from kstreams_cli.counts import JsonOption
from kstreams_cli.row_texts import RowTexts
from kstreams_cli.stores import (
    AppArgument,
    AppState,
    CheckpointOption,
    KeyOption,
    LogOption,
    StoreArgument,
    TopologyOption,
    ValueOption,
)

__all__ = ("diff",)

_BEFORE = Annotated[
    str,
    typer.Argument(
        metavar="BEFORE",
        help="First version: the number of a retained batch, or the name of a savepoint.",
        show_default=False,
    ),
]
_AFTER = Annotated[
    str | None,
    typer.Argument(
        metavar="AFTER",
        help="Second version, in the same form.",
        show_default="the newest version",
    ),
]


def diff(
    app: AppArgument,
    store: StoreArgument,
    before: _BEFORE,
    after: _AFTER = None,
    limit: Annotated[
        int, typer.Option(min=0, metavar="N", help="Maximum number of rows; 0 shows all rows.")
    ] = 100,
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    topology: TopologyOption = None,
    key_format: KeyOption = None,
    value_format: ValueOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the rows of a store that differ between two versions: `-` before, `+` after.

    Use it to check the effect of a batch or of an upgrade. Both versions are whole commits, over
    all partitions. A changed row is shown twice. The rows are in the order of the store, for most
    stores in the order of keys.

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
        columns, serdes = columns_of(new), (new.spec.value, key_serde(new))
        texts, show = RowTexts(columns, *serdes), shown_by(*serdes)
        chosen: list[tuple[str, tuple[str, ...]]] = []
        count = 0
        for change in changed_rows(old, new):
            count += change is not None
            if change is not None and (count <= limit or not limit):
                parts = map(show, change.row) if as_json else texts.of(change.row)
                chosen.append((change.sign, tuple(parts)))
        versions = f"between versions {_version(old)} and {_version(new)}"
    if as_json:
        for sign, row in chosen:
            print(json.dumps({"change": sign, **dict(zip(columns, row, strict=True))}))
    else:
        table = new_table("", *texts.headings)
        for sign, row in chosen:
            color = "red" if sign == "-" else "green"
            table.add_row(f"[{color}]{sign}[/]", *map(escape, row))
        stdout().print(table)
    more = f", {len(chosen):,} of them shown; --limit 0 shows all"
    text = f"{counted(count, 'changed row')} {versions}"
    stderr().print(f"[dim]{text}{more if len(chosen) < count else ''}[/]")


def _version(view: View[object]) -> str:
    return "none" if view.version is None else f"{view.version:,}"
