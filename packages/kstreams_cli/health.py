"""`kstreams health`: the health of an app, for probes that run a command."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.markup import escape

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.pause import present_pause
from kstreams.clock import SystemClock, to_ms
from kstreams.ids import TopicPartition
from kstreams.log import RetainedSize
from kstreams.telemetry.live import Live
from kstreams.telemetry.unread import unread_of
from kstreams_admin.status import QueryStatus, query_statuses
from kstreams_admin.telemetry_reader import TelemetryReader
from kstreams_cli.consoles import counted, stderr, stdout
from kstreams_cli.counts import JsonOption
from kstreams_cli.moments import parse_span
from kstreams_cli.place import Place
from kstreams_cli.stores import AppArgument, AppState, CheckpointOption, LogOption
from kstreams_cli.usage import for_option

__all__ = ("health",)


def health(
    place: Place,
    app: AppArgument,
    max_age: Annotated[
        str,
        typer.Option(
            metavar="SPAN",
            help="Maximum age of the last commit of a query that has unread records, such as 5m.",
        ),
    ] = "60s",
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the health of an app: exit code 0 if it is healthy, 1 if not.

    Use it as a liveness probe, with an initial delay for the start of Spark. An app is healthy if
    each of its queries has committed within --max-age, or has no unread records in its topics. So
    an app without input is healthy, and an app that hangs or has ended is not. A paused app is
    healthy. The check takes no lock and sends no request to the app.

    For sources other than topics (files, tables), the app writes the number of unread records to
    its telemetry: an app with such a source and without recent telemetry is not healthy.

    Example:
        kstreams health word-count --max-age 60s --bootstrap localhost:9092
    """
    with for_option("--max-age"):
        patience = to_ms(parse_span(max_age))
    state = AppState.find(app, checkpoint, log)
    now = SystemClock().now_ms()
    telemetry = _log_telemetry(state.checkpoint, now)
    found = [
        _Query.of(place, state.checkpoint, status, telemetry, now - patience)
        for status in query_statuses(state.checkpoint, state.objects())
    ]
    paused = present_pause(state.checkpoint.home)
    is_well = paused is not None or all(query.is_well for query in found)
    if as_json:
        queries = [query.to_json() for query in found]
        said = {"app": app, "healthy": is_well, "paused": paused is not None, "queries": queries}
        print(json.dumps(said))
    elif paused is None:
        for query in found:
            if not query.is_well:
                stderr().print(f"[red]✗[/] {escape(query.problem)}")
    if not is_well:
        raise typer.Exit(1)
    if not as_json:
        text = "healthy" if paused is None else f"paused: {escape(paused.shown)}"
        stdout().print(f"{escape(app)} is {text}")


@dataclass(frozen=True)
class _LogTelemetry:
    """The telemetry of an app about sources other than topics.

    Attributes:
        logs: The names of the app's logs, which are its sources other than topics.
        live: The current activity; None if the telemetry is outdated or missing.
    """

    logs: frozenset[str]
    live: Live | None


@dataclass(frozen=True)
class _Query:
    """The health of one query.

    Attributes:
        status: The last commit.
        waiting: The number of unread records, if the last commit is too old.
        unknown: The names of logs with an unknown number of unread records.
        kept: The size of the uncommitted data that the source of each log retains, by log.
    """

    status: QueryStatus
    waiting: int
    unknown: tuple[str, ...]
    kept: Mapping[str, RetainedSize]

    @classmethod
    def of(
        cls,
        place: Place,
        checkpoint: Checkpoint,
        status: QueryStatus,
        telemetry: _LogTelemetry,
        since_ms: int,
    ) -> _Query:
        """Return the health of a query, from end offsets of topics and telemetry of logs.

        If the last commit is not older than `since_ms`, unread records are not requested.
        """
        groups = checkpoint.queries[status.query]
        names = {topic for group in groups for topic in checkpoint.shape[group]["sources"]}
        live = None if telemetry.live is None else telemetry.live.queries.get(status.query)
        kept = {} if live is None else live.kept
        if status.wall_ms is not None and status.wall_ms >= since_ms:
            return cls(status, 0, (), kept)
        waiting = _waiting(place, status, names - telemetry.logs)
        logs = names & telemetry.logs
        if logs and (live is None or live.ends_ms is None):
            return cls(status, waiting, tuple(sorted(logs)), kept)
        unread = {} if live is None else live.partitions
        waiting += sum(each.records for where, each in unread.items() if where.topic in logs)
        return cls(status, waiting, (), kept)

    @property
    def is_well(self) -> bool:
        """Whether the query is healthy: it has committed recently, or has no unread records."""
        return self.waiting == 0 and not self.unknown

    @property
    def problem(self) -> str:
        """The problem of the query; empty if it is healthy."""
        status = self.status
        since = "no commit" if status.batch is None else f"no commit since batch {status.batch:,}"
        named = f"query {status.query!r}"
        if self.waiting:
            waits = counted(self.waiting, "unread record")
            return f"{named} has {waits}, and {since}"
        logs = ", ".join(map(repr, self.unknown))
        return f"{named} has {since}, and the number of unread records of {logs} is unknown"

    def to_json(self) -> dict[str, object]:
        """Return the health of the query as a JSON object, for `--json`."""
        return {
            "query": self.status.query,
            "batch": self.status.batch,
            "committed_at_ms": self.status.wall_ms,
            "healthy": self.is_well,
            "records_waiting": None if self.unknown else self.waiting,
            "kept_bytes": {log: each.size_bytes for log, each in self.kept.items()},
            "room_bytes": {log: each.room_bytes for log, each in self.kept.items()},
        }


def _log_telemetry(checkpoint: Checkpoint, now_ms: int) -> _LogTelemetry:
    """Read the telemetry of an app about its logs; without telemetry, the result has no logs."""
    reader = TelemetryReader(checkpoint.home)
    outline = reader.topology()
    logs = frozenset[str]() if outline is None else {node.topic for node in outline.logs()}
    live = reader.live() if logs else None
    return _LogTelemetry(
        frozenset(logs), live if live is not None and live.is_current(now_ms) else None
    )


def _waiting(place: Place, status: QueryStatus, topics: Collection[str]) -> int:
    """Return the number of records of topics that a query has not committed."""
    if not topics:
        return 0
    known = {where: offset for where, offset in status.positions.items() if where.topic in topics}
    positions = known or _beginnings(place, topics)
    return sum(each.records for each in unread_of(place.connection, positions).values())


def _beginnings(place: Place, topics: Collection[str]) -> dict[TopicPartition, int]:
    """Return the start offsets of the partitions of topics."""
    with closing(place.connection.admin()) as admin:
        return {
            TopicPartition(topic, partition): offset
            for topic in sorted(topics)
            for partition, offset in admin.beginning_offsets(topic).items()
        }
