"""Metrics from the commits of apps, and from the lag of their topics."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kstreams.clock import Clock, SystemClock
from kstreams.connection import Connection
from kstreams.errors import KStreamsError
from kstreams.ids import TopicPartition
from kstreams.telemetry.formats import library_version
from kstreams.telemetry.unread import Unread, unread_of
from kstreams_admin.status import QueryStatus
from kstreams_serve.app_metrics import TOLD, add_counters, add_kept, add_live
from kstreams_serve.exposition import Family
from kstreams_serve.request_times import RequestTimes
from kstreams_serve.served_app import AppTelemetry, ServedApp

__all__ = ("METRICS", "LagWatch", "Metrics")

_LOG = logging.getLogger(__name__.replace("_", ".", 1))

METRICS: Mapping[str, tuple[str, str]] = {
    "kstreams_build_info": ("gauge", "Version of kstreams on the server; the value is 1."),
    "kstreams_app_readable": (
        "gauge", "1 if the checkpoint and the durable log of the app can be read, otherwise 0.",
    ),
    "kstreams_paused": ("gauge", "1 if the app is paused, otherwise 0."),
    "kstreams_last_commit_timestamp_seconds": (
        "gauge", "Time of the last commit of a query, in seconds since 1970.",
    ),
    "kstreams_committed_batch": ("gauge", "Number of the last committed batch of a query."),
    "kstreams_records_consumed_total": (
        "counter", "Records of a source partition that were processed or dropped.",
    ),
    "kstreams_source_held_records": (
        "gauge", "Records of a source partition that were read and are held for a later batch.",
    ),
    "kstreams_node_records_total": ("counter", "Input and output records of a node, by direction."),
    "kstreams_records_dropped_total": ("counter", "Records that a node has dropped, by reason."),
    "kstreams_state_bytes": (
        "gauge", "Compressed size of the state of a task in the durable log, in bytes.",
    ),
    "kstreams_source_lag_records": ("gauge", "Unread offsets of a source partition."),
    "kstreams_source_oldest_unread_timestamp_seconds": (
        "gauge",
        "Timestamp of the first unread record of a source partition, in seconds since 1970.",
    ),
    "kstreams_source_lag_seconds": (
        "gauge",
        "Age of the first unread record of a source partition, in seconds; 0 if all are read.",
    ),
    "kstreams_source_kept_bytes": (
        "gauge",
        "Uncommitted data that a source retains, for example in a replication slot, in bytes.",
    ),
    "kstreams_source_room_bytes": (
        "gauge",
        "Data that a source can still retain before it drops any, in bytes; absent without limit.",
    ),
    "kstreams_records_produced_total": ("counter", "Records that a sink has written."),
    "kstreams_topic_bytes_total": (
        "counter", "Bytes of keys and values that were read from a topic or written to it.",
    ),
    "kstreams_topic_records_total": (
        "counter", "Records that were read from a topic or written to it.",
    ),
    "kstreams_stream_time_seconds": ("gauge", "Stream time of a task, in seconds since 1970."),
    **TOLD,
    "kstreams_serve_request_duration_seconds": (
        "histogram", "Time from a request to the start of its response, in seconds.",
    ),
}  # fmt: skip
"""All metrics by name, each with its type and description."""

_MS = 1000


class LagWatch:
    """Measures the lag of apps from their topics in the background, but not the lag of logs.

    Args:
        connection: The connection of the topics.
        apps: The apps by name.
        every_s: The interval between measurements, in seconds.
    """

    def __init__(
        self, connection: Connection, apps: Mapping[str, ServedApp], every_s: float = 5.0
    ) -> None:
        self._connection = connection
        self._apps = apps
        self._every = every_s
        self._stop = threading.Event()
        self._known: dict[str, Mapping[TopicPartition, Unread]] = {}
        self._thread = threading.Thread(target=self._run, name="kstreams-lag", daemon=True)

    def of(self, app: str) -> Mapping[TopicPartition, Unread]:
        """Return the lag of an app by partition; empty if the last measurement has failed."""
        return self._known.get(app, {})

    def start(self) -> None:
        """Start measuring in a background thread."""
        self._thread.start()

    def look(self) -> None:
        """Measure the lag of all apps once; remove the lag of apps whose measurement fails."""
        for name, app in self._apps.items():
            try:
                logs = _logs(app.telemetry())
                positions = {
                    place: offset
                    for status in app.statuses()
                    for place, offset in status.positions.items()
                    if place.topic not in logs
                }
                self._known[name] = unread_of(self._connection, positions)
            except Exception as exc:  # noqa: BLE001  # a broker, a log: the next look may go well
                self._known.pop(name, None)
                _LOG.warning("the lag of app %s cannot be measured: %s", name, exc)

    def close(self) -> None:
        """Stop measuring."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            self.look()
            self._stop.wait(self._every)


@dataclass(frozen=True)
class Metrics:
    """Creates metrics from the commits and the telemetry of apps.

    Args:
        apps: The apps by name.
        lag: Measures the lag, if this server reads the topics. Without it, and for logs, the lag
            is taken from the recent telemetry of the app.
        requests: The requests of this server.
        clock: The clock.
    """

    apps: Mapping[str, ServedApp]
    lag: LagWatch | None = None
    requests: RequestTimes | None = None
    clock: Clock = field(default_factory=SystemClock)

    def families(self) -> Iterator[Family]:
        """Yield all metrics, without the metrics of apps that cannot be read."""
        found = {name: Family(name, *kind) for name, kind in METRICS.items()}  # type: ignore[arg-type]  # one of two words
        found["kstreams_build_info"].add(1, version=library_version())
        for name, app in self.apps.items():
            try:
                statuses, paused = app.statuses(), app.is_paused()
            except KStreamsError as exc:
                _LOG.warning("app %s cannot be read: %s", name, exc)
                found["kstreams_app_readable"].add(0, app=name)
                continue
            found["kstreams_app_readable"].add(1, app=name)
            found["kstreams_paused"].add(int(paused), app=name)
            telemetry = app.telemetry()
            unread = self._unread(name, telemetry)
            for status in statuses:
                _of_query(found, name, status, telemetry)
                for place in status.positions:
                    if place in unread:
                        self._of_place(found, {"app": name, "query": status.query}, place, unread)
            if telemetry.live is not None:
                add_live(found, name, telemetry.live)
                if telemetry.live.is_current(self.clock.now_ms()):
                    add_kept(found, name, telemetry.live)
            if telemetry.counters is not None:
                for query, counters in telemetry.counters.queries.items():
                    add_counters(found, name, query, counters)
        if self.requests is not None:
            self.requests.add_to(found["kstreams_serve_request_duration_seconds"])
        yield from found.values()

    def _unread(self, app: str, telemetry: AppTelemetry) -> Mapping[TopicPartition, Unread]:
        logs = None if self.lag is None else _logs(telemetry)
        known = {} if self.lag is None else dict(self.lag.of(app))
        if telemetry.live is not None and telemetry.live.is_current(self.clock.now_ms()):
            for query in telemetry.live.queries.values():
                for place, each in query.partitions.items():
                    if logs is None or place.topic in logs:
                        known[place] = each
        return known

    def _of_place(
        self,
        found: Mapping[str, Family],
        own: Mapping[str, str],
        place: TopicPartition,
        unread: Mapping[TopicPartition, Unread],
    ) -> None:
        behind = unread[place]
        labels = {**own, "topic": place.topic, "partition": place.partition}
        found["kstreams_source_lag_records"].add(behind.records, **labels)
        oldest = behind.oldest_ms
        if oldest is not None:
            found["kstreams_source_oldest_unread_timestamp_seconds"].add(oldest / _MS, **labels)
        if oldest is not None or not behind.records:
            age = 0 if oldest is None else max(self.clock.now_ms() - oldest, 0)
            found["kstreams_source_lag_seconds"].add(age / _MS, **labels)


def _logs(telemetry: AppTelemetry) -> frozenset[str]:
    """Return the names of the logs in an app's telemetry."""
    nodes = () if telemetry.topology is None else telemetry.topology.logs()
    return frozenset(node.topic for node in nodes)


def _of_query(
    found: Mapping[str, Family], app: str, status: QueryStatus, telemetry: AppTelemetry
) -> None:
    own = {"app": app, "query": status.query}
    if status.batch is not None and status.wall_ms is not None:
        found["kstreams_last_commit_timestamp_seconds"].add(status.wall_ms / _MS, **own)
        found["kstreams_committed_batch"].add(status.batch, **own)
    for node, counts in status.totals.nodes.items():
        records = found["kstreams_node_records_total"]
        records.add(counts.records_in - counts.held, **own, node=node, direction="in")
        records.add(counts.records_out, **own, node=node, direction="out")
        for reason, count in counts.dropped.items():
            dropped = found["kstreams_records_dropped_total"]
            dropped.add(count, **own, node=node, reason=reason)
    for node, places in status.totals.sources.items():
        for place, read in places.items():
            labels = {**own, "node": node, "topic": place.topic, "partition": place.partition}
            found["kstreams_records_consumed_total"].add(read.taken, **labels)
            found["kstreams_source_held_records"].add(read.held, **labels)
    for topic, each in status.totals.topics.items():
        for way, count, size in (
            ("in", each.records_in, each.bytes_in),
            ("out", each.records_out, each.bytes_out),
        ):
            labels = {**own, "topic": topic, "direction": way}
            found["kstreams_topic_records_total"].add(count, **labels)
            found["kstreams_topic_bytes_total"].add(size, **labels)
    for task, size in status.state_bytes.items():
        found["kstreams_state_bytes"].add(size, **own, group=task.group, partition=task.partition)
    for task, time_ms in status.stream_times.items():
        times = found["kstreams_stream_time_seconds"]
        times.add(time_ms / _MS, **own, group=task.group, partition=task.partition)
    for sink in () if telemetry.topology is None else telemetry.topology.sinks():
        if sink.name in status.totals.nodes:
            written = status.totals.nodes[sink.name].records_out
            produced = found["kstreams_records_produced_total"]
            produced.add(written, **own, node=sink.name, topic=sink.topic)
