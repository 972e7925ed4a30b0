"""`kstreams trace`: the effects of a record."""

from __future__ import annotations

import json
import re
from typing import Annotated

import typer
from rich.markup import escape

from kstreams_admin.moments import iso
from kstreams_admin.values import printable
from kstreams_cli.consoles import new_table, stderr, stdout
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
from kstreams_cli.stores import AppArgument, AppState, CheckpointOption, LogOption
from kstreams_cli.usage import WrongUsageError
from kstreams_explain.record_watch import TracedStep
from kstreams_explain.traced import TracedBatch, trace_record

__all__ = ("trace",)

_PLACE = re.compile(r"(.+)/([0-9]{1,9})@([0-9]{1,18})")


def trace(
    place: Place,
    app: AppArgument,
    record: Annotated[
        str,
        typer.Argument(
            metavar="TOPIC/P@OFFSET",
            help="Topic, partition and offset of the record, such as lines/3@1902.",
            show_default=False,
        ),
    ],
    topology: RunTopologyOption = None,
    connection: ConnectionOption = None,
    repeat_calls: RepeatCallsOption = False,
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    most_bytes: MostBytesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the effects of a record: its path, its writes, or the reason why it was dropped.

    Use it to find out what happened to one record. The command replays the batch of the record in
    this process, with the committed plan, state and records, through repartitions to the last
    stage. The replay writes nothing and takes no lock, and the app may run meanwhile.

    The command needs --topology, retained commits of the batch and of the batch before it
    (App(retained_batches=...)), and topics that still contain the records of the batch.

    Example:
        kstreams trace word-count lines/0@17 --topology examples/word_count.py
        kstreams trace shop orders/3@1902 --topology shop.app:topology --bootstrap localhost:9092
    """
    found = _PLACE.fullmatch(record)
    if found is None:
        raise WrongUsageError(
            f"{record!r} is not TOPIC/PARTITION@OFFSET, such as lines/0@17", "TOPIC/P@OFFSET"
        )
    if topology is None:
        raise WrongUsageError(
            "a trace runs the code of the topology: add --topology MODULE:NAME", "--topology"
        )
    state = AppState.find(app, checkpoint, log)
    replayed = replayed_app(
        state, place, topology, connection, repeat_calls=repeat_calls, most_bytes=most_bytes
    )
    assert replayed is not None  # noqa: S101  # the topology is given
    made = trace_record(replayed, found[1], int(found[2]), int(found[3]))
    if as_json:
        print(json.dumps(made.to_json()))
        return
    for each in made.batches:
        _show(each)
    if all(each.batch is None for each in made.batches):
        raise typer.Exit(1)


def _show(each: TracedBatch) -> None:
    if each.batch is not None and each.wall_ms is not None:
        stdout().print(
            f"[bold]batch {each.batch:,}[/] of query {escape(repr(each.query))}, "
            f"{iso(each.wall_ms)}"
        )
    if each.not_run:
        stderr().print(f"[yellow]query {escape(repr(each.query))}: {escape(each.not_run)}[/]")
        return
    if not each.steps:
        stdout().print("[dim]no effect: there is no record at this offset, or no node reads it[/]")
        return
    table = new_table("task", "node", "event", "key", "value", "details")
    for step in each.steps:
        record = step.record
        table.add_row(
            escape(str(step.task)),
            "  " * step.depth + f"[cyan]{escape(step.node)}[/] [dim]{escape(step.defined_at)}[/]",
            f"[yellow]{step.what}[/]" if step.what == "dropped" else step.what,
            "" if record is None else escape(printable(record.key)),
            "" if record is None else escape(printable(record.value)),
            escape(_details(step)),
        )
    stdout().print(table)


def _details(step: TracedStep) -> str:
    if step.store is None:
        return step.reason
    spec = step.store.spec
    before, after = (rows_of_key_text(spec, rows) for rows in (step.before, step.after))
    return f"{spec.name}: {before} > {after}"
