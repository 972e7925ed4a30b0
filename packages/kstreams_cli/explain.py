"""`kstreams explain`: the batches and records that gave a key its value."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Annotated

import typer
from rich.markup import escape

from kstreams.checkpoint.savepoint.store_place import StorePlace
from kstreams.ids import TopicPartition
from kstreams_admin.moments import iso
from kstreams_admin.values import printable
from kstreams_cli.consoles import counted, new_table, stderr, stdout
from kstreams_cli.counts import JsonOption
from kstreams_cli.place import Place
from kstreams_cli.replaying import (
    ConnectionOption,
    MostBytesOption,
    RepeatCallsOption,
    RunTopologyOption,
    replayed_app,
)
from kstreams_cli.row_texts import rows_of_key_text
from kstreams_cli.stores import (
    AppArgument,
    AppState,
    CheckpointOption,
    KeyOption,
    LogOption,
    StoreArgument,
    ValueOption,
    typed_key,
)
from kstreams_cli.usage import WrongUsageError
from kstreams_explain.explained import ExplainedChange, ExplainedStep, Explanation, explain_key
from kstreams_explain.key_rows import Rows

__all__ = ("explain",)


def explain(
    place: Place,
    app: AppArgument,
    store: StoreArgument,
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="Key, as text.", show_default=False)
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of the batch to explain.",
            show_default="the last batch that changed the key",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Explain every retained batch that changed the key.")
    ] = False,
    limit: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Maximum number of records per batch; 0 shows all records."
        ),
    ] = 100,
    skip: Annotated[
        int, typer.Option(min=0, metavar="N", help="Skip the first N records of each batch.")
    ] = 0,
    topology: RunTopologyOption = None,
    connection: ConnectionOption = None,
    repeat_calls: RepeatCallsOption = False,
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    key_format: KeyOption = None,
    value_format: ValueOption = None,
    key_bytes: Annotated[str | None, typer.Option("--key-bytes", hidden=True)] = None,
    most_bytes: MostBytesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show why a key has its value: the batches and the records that changed it.

    Use it if a value is unexpected. The history of the key comes from the durable log. With
    --topology, the command replays the last batch that changed the key in this process, with the
    committed plan, state and records. Each line is a record, its origin through repartitions, and
    its effect; dropped records have a reason. The replay writes nothing and takes no lock, and the
    app may run meanwhile. The command compares the result with the commit: a difference shows that
    a processor is not deterministic.

    A batch can be explained while its commit and the commit before it are retained
    (App(retained_batches=...)) and the topics still contain its records. Processors that call
    external systems, and sinks that call functions, need --repeat-calls.

    Example:
        kstreams explain word-count counts apple --topology examples/word_count.py
        kstreams explain shop totals 17 --topology shop.app:topology --bootstrap localhost:9092
        kstreams explain shop totals 17 --topology shop.app:topology --batch 1233 --json
    """
    state = AppState.find(app, checkpoint, log)
    replayed = replayed_app(
        state, place, topology, connection, repeat_calls=repeat_calls, most_bytes=most_bytes
    )
    spec = state.spec(store, topology=topology, key=key_format, value=value_format)
    found_place = StorePlace.find(state.checkpoint.home, state.log, spec)
    if key_bytes is not None:
        wanted = spec.key.deserialize(b64decode(key_bytes))
    elif key is not None:
        wanted = typed_key(spec.key, key_format, key)
    else:
        raise WrongUsageError("the key to explain is missing", "KEY")
    if replayed is None and (batch is not None or every):
        raise WrongUsageError(
            "--batch and --all need the topology: add --topology MODULE:NAME", "--topology"
        )
    found = explain_key(found_place, wanted, replayed, batch=batch, every=every)
    if as_json:
        print(json.dumps(found.to_json(skip=skip, limit=limit or None)))
        return
    _show(found)
    for each in found.explained:
        _show_change(found, each, each.steps[skip:][: limit or None])
    if replayed is None and found.history.changes:
        stderr().print("[dim]Add --topology MODULE:NAME to show the records that changed it.[/]")


def _show(found: Explanation) -> None:
    history = found.history
    label = f"{found.rows.spec.name} / {printable(found.rows.key)}"
    value = _text(found, history.last) if history.last else "no such key"
    kept = (
        "no committed batch yet"
        if history.retained is None
        else "batches {:,} to {:,} are retained".format(*history.retained)
    )
    stdout().print(f"[bold]{escape(label)}[/]  {escape(value)}", soft_wrap=True)
    stdout().print(f"[dim]task {history.task}; {kept}[/]")
    if not history.changes:
        stdout().print("[dim]no retained batch has changed the key[/]")
        return
    table = new_table("batch", "committed", "before", "after", numbers=("batch",))
    for change in reversed(history.changes):
        table.add_row(
            f"{change.batch:,}",
            iso(change.wall_ms),
            escape(_text(found, change.before)),
            escape(_text(found, change.after)),
        )
    stdout().print(table)


def _show_change(
    found: Explanation, each: ExplainedChange, steps: tuple[ExplainedStep, ...]
) -> None:
    batch = f"batch {each.change.batch:,}"
    if each.not_run:
        stderr().print(f"[yellow]{batch} cannot be replayed: {escape(each.not_run)}[/]")
        for read in each.ranges:
            place = str(TopicPartition(read.topic, read.partition))
            stderr().print(
                f"  it read {escape(place)} from offset {read.from_offset:,} to {read.to_offset:,}"
            )
        return
    table = new_table("before", "after", "record", "via", "node", "key", "value", "dropped")
    for step in steps:
        record = step.step.record
        table.add_row(
            escape(_text(found, step.step.before)),
            escape(_text(found, step.step.after)),
            "[dim]none[/]" if step.origin is None else f"[cyan]{escape(str(step.origin))}[/]",
            "" if step.origin is None else escape(" ".join(step.origin.via)),
            f"{escape(step.step.node)} [dim]{escape(step.defined_at)}[/]",
            "" if record is None else escape(printable(record.key)),
            "" if record is None else escape(printable(record.value)),
            f"[yellow]{escape(step.step.dropped)}[/]",
        )
    stdout().print(table)
    shown = "" if len(steps) == len(each.steps) else f", {len(steps):,} of them shown (--limit)"
    text = f"{batch} replayed in {each.seconds:.2f} s: {counted(len(each.steps), 'step')}{shown}"
    if not each.is_equal:
        end, committed = _text(found, each.end), _text(found, each.change.after)
        stderr().print(
            f"[red]✗[/] {text}. The result is {escape(end)}, but the commit has "
            f"{escape(committed)}."
        )
        stderr().print(
            "[red]A processor is not deterministic, or its code has changed since the commit.[/]"
        )
    else:
        stderr().print(f"[green]✓[/] {text}, equal to the commit.")


def _text(found: Explanation, rows: Rows) -> str:
    return rows_of_key_text(found.rows.spec, rows)
