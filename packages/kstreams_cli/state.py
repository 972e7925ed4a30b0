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
    """List an app's stores, loops and savepoints, with the committed version.

    The app may run meanwhile. The size is the compressed size of a group's state in the durable
    log, all its stores together. A loop is shown with its pending records, which the next batch
    reads.

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
        names = new_table("savepoint", "made", "versions")
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
    table = new_table("loop", "group", "under way", "version", numbers=("under way", "version"))
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
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key.", show_default=False)],
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
            help="Windows, sessions or versions from this time on.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="TIME", help="Those before this time.", show_default=False),
    ] = None,
    timestamps: Annotated[
        bool, typer.Option("--timestamps", help="Show the time of a single value, too.")
    ] = False,
) -> None:
    """Show a key's value; or its windows, sessions, versions or list elements, a line each.

    Only the partition of the key is read. The exit code is 1 if the store does not have the key.
    --from and --to select windows and slices by their start, and sessions and versions that overlap
    the span.

    Each line is one row, its parts separated by tabs and its times in UTC: start and value of a
    window; start, end and value of a session; start, end (null: the latest) and value of a version;
    time and value of a slice of sliding windows; start, end, due time, value and timestamp of a
    buffered result.

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
                f"a {kind} store keeps no times; leave out --from and --to", "--from / --to"
            )
        found = list(rows_of_key(view, typed_key(view.spec.key, key_format, key), times))
        columns = view.spec.kind.columns_of_key
    shown = 1 if columns == _VALUE_AND_TIME and not timestamps else len(columns)
    texts = RowTexts(columns[:shown], view.spec.value, key_serde(view))
    for row in found:
        print("\t".join(texts.of(row[:shown])))
    note_undecoded(view.spec)
    if not found:
        stderr().print(f"No [bold]{escape(key)}[/] in store {escape(store)}.")
        raise typer.Exit(1)


def scan(
    app: AppArgument,
    store: StoreArgument,
    start: Annotated[
        str | None, typer.Option(metavar="KEY", help="First key.", show_default=False)
    ] = None,
    end: Annotated[
        str | None, typer.Option(metavar="KEY", help="Key to stop before.", show_default=False)
    ] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="From the last to the first.")] = False,
    limit: Annotated[int, typer.Option(min=0, metavar="N", help="At most; 0 for all.")] = 100,
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    topology: TopologyOption = None,
    key_format: KeyOption = None,
    value_format: ValueOption = None,
    as_of: AsOfOption = None,
) -> None:
    """Show the rows of a store in order: by key, or windows, sessions and buffered records by time.

    --start and --end select a range of keys; a store in the order of time is read completely.
    All partitions are shown at one committed version, with times in UTC. Keys and values of
    serdes that cannot be found by their recorded name are shown as bytes, with a note: give
    --topology, or --key and --value.

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
    note = ", and more: --limit 0 shows all" if more else ""
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
