"""`kstreams health`: does an app do its work? For probes that run a command."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Annotated

import typer
from rich.markup import escape

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.pause import present_pause
from kstreams.checkpoint.status import QueryStatus, query_statuses
from kstreams.cli.consoles import counted, stderr, stdout
from kstreams.cli.counts import JsonOption
from kstreams.cli.moments import parse_span
from kstreams.cli.place import Place
from kstreams.cli.stores import AppArgument, AppState, CheckpointOption, LogOption
from kstreams.cli.usage import for_option
from kstreams.clock import SystemClock, to_ms
from kstreams.ids import TopicPartition
from kstreams.telemetry.unread import unread_of

__all__ = ("health",)


def health(
    place: Place,
    app: AppArgument,
    max_age: Annotated[
        str,
        typer.Option(metavar="SPAN", help="How old the last commit may be while records wait."),
    ] = "60s",
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell whether an app does its work: exit code 0 if it does, 1 if not.

    It does if each of its queries has committed within --max-age, or has nothing to read: the
    topics are asked. So an app without input is healthy, and one that hangs or is dead is not.
    A paused one is: it does what it was told.
    No lock is taken, and the app is not asked: its first start needs patience of the probe.

    Example:
        kstreams health word-count --max-age 60s --bootstrap localhost:9092
    """
    with for_option("--max-age"):
        patience = to_ms(parse_span(max_age))
    state = AppState.find(app, checkpoint, log)
    now = SystemClock().now_ms()
    found = [
        (status, _behind(place, state.checkpoint, status, now - patience))
        for status in query_statuses(state.checkpoint, state.objects())
    ]
    paused = present_pause(state.checkpoint.home)
    is_well = paused is not None or all(behind == 0 for _, behind in found)
    if as_json:
        queries = [
            {
                "query": status.query,
                "batch": status.batch,
                "committed_at_ms": status.wall_ms,
                "healthy": behind == 0,
                "records_waiting": behind,
            }
            for status, behind in found
        ]
        said = {"app": app, "healthy": is_well, "paused": paused is not None, "queries": queries}
        print(json.dumps(said))
    for status, behind in found:
        if behind and not as_json and paused is None:
            since = "nothing" if status.batch is None else f"nothing since batch {status.batch:,}"
            waiting = f"{counted(behind, 'record')} to read, and has committed {since}"
            stderr().print(f"[red]✗[/] query {escape(repr(status.query))} has {waiting}")
    if not is_well:
        raise typer.Exit(1)
    if not as_json:
        text = "healthy" if paused is None else f"paused: {escape(paused.told)}"
        stdout().print(f"{escape(app)} is {text}")


def _behind(place: Place, checkpoint: Checkpoint, status: QueryStatus, since_ms: int) -> int:
    """Return how many records wait for a query that has committed nothing since a time."""
    if status.wall_ms is not None and status.wall_ms >= since_ms:
        return 0
    positions = status.positions or _beginnings(place, checkpoint, status.query)
    return sum(each.records for each in unread_of(place.connection, positions).values())


def _beginnings(place: Place, checkpoint: Checkpoint, query: str) -> dict[TopicPartition, int]:
    """Return where the topics of a query begin, which has not read any yet."""
    groups = checkpoint.queries[query]
    topics = {topic for group in groups for topic in checkpoint.shape[group]["sources"]}
    with closing(place.connection.admin()) as admin:
        return {
            TopicPartition(topic, partition): offset
            for topic in sorted(topics)
            for partition, offset in admin.beginning_offsets(topic).items()
        }
