"""The telemetry of an app as metrics: sums since its start, and its current activity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kstreams.batch.messages.latency import LATENCY_BOUNDS_MS
from kstreams.batch.report import AppState
from kstreams.state.log.traffic import Traffic
from kstreams.telemetry.counters import DURATION_BOUNDS_S, QueryCounters
from kstreams.telemetry.live import Live
from kstreams_serve.exposition import Family

__all__ = ("TOLD", "add_counters", "add_kept", "add_live")

TOLD: Mapping[str, tuple[str, str]] = {
    "kstreams_app_state": (
        "gauge", "1 for the state of the app in its latest telemetry, 0 for other states.",
    ),
    "kstreams_app_heard_timestamp_seconds": (
        "gauge", "Time of the latest telemetry of the app, in seconds since 1970.",
    ),
    "kstreams_reports_lost": (
        "gauge", "Reports that the app could not write to its telemetry, since its start.",
    ),
    "kstreams_batches_total": ("counter", "Batches committed since the start of the app."),
    "kstreams_batch_duration_seconds": ("histogram", "Duration of a phase of a batch, in seconds."),
    "kstreams_record_latency_seconds": (
        "histogram", "Age of records at the commit of their batch, in seconds.",
    ),
    "kstreams_task_busy_seconds_total": ("counter", "Time of a task in a phase, in seconds."),
    "kstreams_node_busy_seconds_total": (
        "counter", "Processing time of a node, estimated from samples, in seconds.",
    ),
    "kstreams_node_busy_ratio": (
        "gauge", "Share of a node in the processing time of its query, from samples, 0 to 1.",
    ),
    "kstreams_store_rows": ("gauge", "Rows of a store; an estimate with some state backends."),
    "kstreams_restores_total": ("counter", "Restores of a task's state from the durable log."),
    "kstreams_restore_seconds_total": (
        "counter", "Time of restores of tasks from the durable log, in seconds.",
    ),
    "kstreams_task_moves_total": (
        "counter", "Moves of a task to another worker than in its batch before.",
    ),
    "kstreams_log_requests_total": ("counter", "Requests to the durable log, by operation."),
    "kstreams_log_bytes_total": (
        "counter", "Bytes read from the durable log or written to it, by operation.",
    ),
}  # fmt: skip
"""The metrics of this module by name, each with its type and description."""

_MS = 1000


def add_live(found: Mapping[str, Family], app: str, live: Live) -> None:
    """Add the last known activity of an app to metrics.

    Args:
        found: The metrics, by name.
        app: The app id.
        live: The activity.
    """
    for state in AppState:
        found["kstreams_app_state"].add(int(state.value == live.state), app=app, state=state.value)
    found["kstreams_app_heard_timestamp_seconds"].add(live.written_ms / _MS, app=app)
    found["kstreams_reports_lost"].add(live.lost, app=app)


def add_kept(found: Mapping[str, Family], app: str, live: Live) -> None:
    """Add to metrics the size of uncommitted data that sources retain for an app's logs.

    Args:
        found: The metrics, by name.
        app: The app id.
        live: The activity.
    """
    for query, told in live.queries.items():
        for log, kept in told.kept.items():
            own = {"app": app, "query": query, "topic": log}
            found["kstreams_source_kept_bytes"].add(kept.size_bytes, **own)
            if kept.room_bytes is not None:
                found["kstreams_source_room_bytes"].add(kept.room_bytes, **own)


def add_counters(
    found: Mapping[str, Family], app: str, query: str, counters: QueryCounters
) -> None:
    """Add to metrics the counters of a query, summed since the start of the app.

    Args:
        found: The metrics, by name.
        app: The app id.
        query: The name of the query.
        counters: The counters.
    """
    own = {"app": app, "query": query}
    found["kstreams_batches_total"].add(counters.batches, **own)
    for phase, durations in counters.durations.items():
        found["kstreams_batch_duration_seconds"].add_histogram(
            DURATION_BOUNDS_S, durations.counts, durations.sum_s, **own, phase=phase
        )
    found["kstreams_record_latency_seconds"].add_histogram(
        [bound / _MS for bound in LATENCY_BOUNDS_MS],
        counters.latency.counts,
        counters.latency.sum_ms / _MS,
        **own,
    )
    for task, phases in counters.tasks.items():
        place = {**own, "group": task.group, "partition": task.partition}
        for phase, seconds in phases.items():
            found["kstreams_task_busy_seconds_total"].add(seconds, **place, phase=phase)
    total = sum(counters.nodes.values())
    for node, seconds in counters.nodes.items():
        found["kstreams_node_busy_seconds_total"].add(seconds, **own, node=node)
        found["kstreams_node_busy_ratio"].add(seconds / total if total else 0, **own, node=node)
    for store, tasks in counters.rows.items():
        found["kstreams_store_rows"].add(sum(tasks.values()), **own, store=store)
    for group, (count, spent) in counters.restores.items():
        found["kstreams_restores_total"].add(count, **own, group=group)
        found["kstreams_restore_seconds_total"].add(spent, **own, group=group)
    found["kstreams_task_moves_total"].add(counters.moves, **own)
    for name, operation, value in _of_log(counters.log):
        found[f"kstreams_log_{name}_total"].add(value, **own, operation=operation)


def _of_log(log: Traffic) -> Iterator[tuple[str, str, int]]:
    yield from (
        ("requests", "put", log.puts),
        ("requests", "get", log.gets),
        ("requests", "list", log.lists),
        ("requests", "delete", log.deletes),
        ("bytes", "put", log.put_bytes),
        ("bytes", "get", log.get_bytes),
    )
