"""`kstreams counts`: the numbers of records that each node of an app has processed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from kstreams_admin.moments import iso
from kstreams_admin.status import QueryStatus, query_statuses
from kstreams_cli.consoles import new_table, stderr, stdout
from kstreams_cli.stores import AppArgument, AppState, CheckpointOption, LogOption

__all__ = ("JsonOption", "counts")

JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")]

_NUMBERS = ("in", "out", "held")
_BY_TOPIC = ("in", "bytes in", "out", "bytes out")


def counts(
    app: AppArgument,
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the numbers of input, output, held and dropped records of each node of an app.

    Use it to check where records go, or where they are lost. A second table shows the records and
    the uncompressed bytes of each topic.

    The counts are part of each commit, so they are exact after any crash, and available when the
    app does not run. For sources, edges, loops and sinks, the input is the sum of the output, the
    dropped records and those held for a later batch. For other nodes, `out` is the number of
    forwarded records.

    Example:
        kstreams counts word-count
        kstreams counts word-count --json | jq '.queries[].nodes'
    """
    state = AppState.find(app, checkpoint, log)
    found = query_statuses(state.checkpoint, state.objects())
    if as_json:
        print(json.dumps({"app": app, "queries": [_plain(query) for query in found]}))
        return
    table = new_table("query", "node", *_NUMBERS, "dropped", numbers=_NUMBERS)
    for query in found:
        for node, n in query.totals.nodes.items():
            reasons = ", ".join(f"{n:,} {escape(why)}" for why, n in sorted(n.dropped.items()))
            table.add_row(
                escape(query.query),
                f"[cyan]{escape(node)}[/]",
                *(f"{number:,}" for number in (n.records_in, n.records_out, n.held)),
                f"[yellow]{reasons}[/]" if reasons else "[dim]none[/]",
            )
    stdout().print(table)
    if any(query.totals.topics for query in found):
        stdout().print(_topics(found))
    for query in found:
        name = escape(query.query)
        if query.batch is None or query.wall_ms is None:
            stderr().print(f"[dim]{name}: no committed batch yet[/]")
        elif not query.counted:
            stderr().print(f"[dim]{name}: counts start with the next batch[/]")
        else:
            stderr().print(f"[dim]{name}: batch {query.batch:,}, {iso(query.wall_ms)}[/]")


def _topics(found: Sequence[QueryStatus]) -> Table:
    """Return the records and bytes of each topic as a table."""
    table = new_table("query", "topic", *_BY_TOPIC, numbers=_BY_TOPIC)
    for query in found:
        for topic, n in query.totals.topics.items():
            numbers = (n.records_in, n.bytes_in, n.records_out, n.bytes_out)
            table.add_row(
                escape(query.query),
                f"[cyan]{escape(topic)}[/]",
                *(f"{number:,}" for number in numbers),
            )
    return table


def _plain(query: QueryStatus) -> dict[str, Any]:
    return {
        "query": query.query,
        "batch": query.batch,
        "committed_at_ms": query.wall_ms,
        "nodes": {
            node: {
                "in": n.records_in,
                "out": n.records_out,
                "held": n.held,
                "dropped": dict(n.dropped),
            }
            for node, n in query.totals.nodes.items()
        },
        "partitions": {
            node: {str(place): {"taken": n.taken, "held": n.held} for place, n in places.items()}
            for node, places in query.totals.sources.items()
        },
        "topics": {
            topic: {
                "records_in": n.records_in,
                "bytes_in": n.bytes_in,
                "records_out": n.records_out,
                "bytes_out": n.bytes_out,
            }
            for topic, n in query.totals.topics.items()
        },
    }
