"""`kstreams state list|get|scan`: show the stores of an app, running or not."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer
from rich.markup import escape

from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.state.log.commits import SEED
from kstreams.state.log.loop_objects import rows_by_loop
from kstreams.state.stores.kind import Times
from kstreams_admin.flat_rows import columns_of, key_serde, rows_of, rows_of_key
from kstreams_admin.moments import iso
from kstreams_cli.consoles import counted, new_table, shown_size, stderr, stdout
from kstreams_cli.moments import parse_moment
from kstreams_cli.row_texts import RowTexts
from kstreams_cli.stores import (
    AppArgument,
    AppState,
    AsOfOption,
    CheckpointOption,
    KeyOption,
    LogOption,
    StoreArgument,
    TopologyOption,
    ValueOption,
    note_undecoded,
    typed_key,
)
from kstreams_cli.usage import WrongUsageError, for_option

__all__ = ("get", "list_stores", "scan")

_VALUE_AND_TIME = ("value", "timestamp_ms")


def list_stores(
    app: AppArgument, checkpoint: CheckpointOption = None, log: LogOption = None
) -> None:
    """List the stores, loops and savepoints of an app, with their committed versions.

    Use it to find the names of stores for the other commands. The app may run meanwhile. The size
    is the compressed size of the state of a group in the durable log, which includes all stores of
    the group. For a loop, the table shows the pending records, which the next batch reads.

    Example:
        kstreams state list word-count
        kstreams state list word-count --checkpoint /mnt/checkpoints/word-count
    """
    state = AppState.find(app, checkpoint, log)
    objects = state.objects()
    table = new_table(
        "store", "kind", "key", "value", "group", "partitions", "version", "size",
        numbers=("partitions", "version", "size"),
    )  # fmt: skip
    for name, (group, schema) in sorted(state.checkpoint.stores().items()):
        query = state.checkpoint.query_of_group(group)
        last = state.checkpoint.commits(query, objects).last()
        pointers = {} if last is None else last.pointers()
        own = [p for task, p in pointers.items() if task.group == group]
        size = sum(pointer.snapshot_bytes + pointer.delta_bytes for pointer in own)
        table.add_row(
            f"[cyan]{escape(name)}[/]",
            schema["kind"],
            escape(schema["key"]),
            escape(schema["value"]),
            escape(group),
            f"{state.checkpoint.tasks[group]:,}",
            _version(None if last is None else last.batch),
            shown_size(size),
        )
    stdout().print(table)
    _show_loops(state)
    savepoints = list(Savepoints(state.checkpoint, objects).all())
    if savepoints:
        names = new_table("savepoint", "created", "versions")
        for savepoint in savepoints:
            versions = ", ".join(
                f"{query} {_version(commit.batch)}" for query, commit in savepoint.commits.items()
            )
            made = iso(savepoint.wall_ms)
            names.add_row(f"[cyan]{escape(savepoint.name)}[/]", made, escape(versions))
        stdout().print()
        stdout().print(names)


def _show_loops(state: AppState) -> None:
    """Show the number of pending records of each loop, if there are loops."""
    table = new_table("loop", "group", "pending", "version", numbers=("pending", "version"))
    for group, parts in state.checkpoint.shape.items():
        for loop in sorted(parts.get("loops", {})):
            query = state.checkpoint.query_of_group(group)
            last = state.checkpoint.commits(query, state.objects()).last()
            count = 0 if last is None else rows_by_loop(last.loops).get(loop, 0)
            version = _version(None if last is None else last.batch)
            table.add_row(f"[cyan]{escape(loop)}[/]", escape(group), f"{count:,}", version)
    if table.row_count:
        stdout().print()
        stdout().print(table)


def get(
    app: AppArgument,
    store: StoreArgument,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key, as text.", show_default=False)],
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    topology: TopologyOption = None,
    key_format: KeyOption = None,
    value_format: ValueOption = None,
    as_of: AsOfOption = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Show windows, sessions or versions from this time on, such as 2024-05-01T12:00Z.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="TIME",
            help="Show windows, sessions or versions before this time.",
            show_default=False,
        ),
    ] = None,
    timestamps: Annotated[
        bool, typer.Option("--timestamps", help="Also show the timestamp of the value.")
    ] = False,
) -> None:
    """Show the value of a key; or its windows, sessions, versions or list elements, one per line.

    Use it to look up one key of a store, whether the app runs or not. The command reads only the
    partition of the key. The exit code is 1 if the store does not have the key. --from and --to
    select windows and slices by their start, and sessions and versions that overlap the time range.

    Each line is one row. Its parts are separated by tabs, and its times are in UTC: start and value
    of a window; start, end and value of a session; start, end (null: the latest) and value of a
    version; time and value of a slice of sliding windows; start, end, due time, value and timestamp
    of a buffered result.

    Example:
        kstreams state get word-count counts apple
        kstreams state get clicks per-minute /home --from 2024-05-01T12:00:00Z
        kstreams state get word-count counts apple --as-of before-upgrade
        kstreams state get shop orders 17 --topology shop.app:topology
    """
    state = AppState.find(app, checkpoint, log)
    with state.view(
        store, topology=topology, key=key_format, value=value_format, as_of=as_of
    ) as view:
        times = _times(from_, to)
        if times != (None, None) and not view.spec.kind.has_times:
            kind = view.spec.kind.name
            raise WrongUsageError(
                f"a {kind} store has no times: remove --from and --to", "--from / --to"
            )
        found = list(rows_of_key(view, typed_key(view.spec.key, key_format, key), times))
        columns = view.spec.kind.columns_of_key
    shown = 1 if columns == _VALUE_AND_TIME and not timestamps else len(columns)
    texts = RowTexts(columns[:shown], view.spec.value, key_serde(view))
    for row in found:
        print("\t".join(texts.of(row[:shown])))
    note_undecoded(view.spec)
    if not found:
        stderr().print(f"Store {escape(store)} has no key [bold]{escape(key)}[/].")
        raise typer.Exit(1)


def scan(
    app: AppArgument,
    store: StoreArgument,
    start: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="First key of the range.", show_default="no lower bound"),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="End of the range, exclusive.", show_default="no upper bound"
        ),
    ] = None,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="Show the rows in reverse order.")
    ] = False,
    limit: Annotated[
        int, typer.Option(min=0, metavar="N", help="Maximum number of rows; 0 shows all rows.")
    ] = 100,
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    topology: TopologyOption = None,
    key_format: KeyOption = None,
    value_format: ValueOption = None,
    as_of: AsOfOption = None,
) -> None:
    """Show the rows of a store in order: by key, or windows, sessions and buffered records by time.

    Use it to look at many keys. The table has the rows of all partitions at one committed version,
    with times in UTC. --start and --end select a range of keys; a store whose rows are ordered by
    time is still scanned completely. Keys and values are shown as bytes, with a note, if their
    serde cannot be found by its recorded name: add --topology, or --key and --value.

    Example:
        kstreams state scan word-count counts --limit 10
        kstreams state scan word-count counts --start a --end b
    """
    state = AppState.find(app, checkpoint, log)
    with state.view(
        store, topology=topology, key=key_format, value=value_format, as_of=as_of
    ) as view:
        serde = key_serde(view)
        bounds = [None if k is None else typed_key(serde, key_format, k) for k in (start, end)]
        rows = rows_of(view, *bounds, reverse=reverse)
        texts = RowTexts(columns_of(view), view.spec.value, serde)
        table = new_table(*texts.headings)
        count = 0
        for row in islice(rows, limit or None):
            table.add_row(*map(escape, texts.of(row)))
            count += 1
        more = limit > 0 and count == limit and next(rows, None) is not None
        version = view.version
    stdout().print(table)
    note = "; the store has more rows, --limit 0 shows all" if more else ""
    stderr().print(f"[dim]{counted(count, 'row')} at version {_version(version)}{note}[/]")
    note_undecoded(view.spec)


def _times(start: str | None, end: str | None) -> Times:
    with for_option("--from"):
        low = None if start is None else parse_moment(start)
    with for_option("--to"):
        return low, None if end is None else parse_moment(end)


def _version(batch: int | None) -> str:
    if batch is None:
        return "none yet"
    return "begin" if batch == SEED else f"{batch:,}"
