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
    "kstreams_app_state": ("gauge", "1 for the state that the app was in when it was heard last."),
    "kstreams_app_heard_timestamp_seconds": ("gauge", "When the app was heard last."),
    "kstreams_reports_lost": ("gauge", "Reports that could not be written, since the start."),
    "kstreams_batches_total": ("counter", "Batches that were committed since the start."),
    "kstreams_batch_duration_seconds": ("histogram", "How long phases of batches took."),
    "kstreams_record_latency_seconds": (
        "histogram", "How old records were when their batch was committed.",
    ),
    "kstreams_task_busy_seconds_total": ("counter", "How long a task was busy with a phase."),
    "kstreams_node_busy_seconds_total": ("counter", "How long a node took, by samples."),
    "kstreams_node_busy_ratio": ("gauge", "A node's share of the time of its query, by samples."),
    "kstreams_store_rows": ("gauge", "Rows of a store, in some backends an estimate."),
    "kstreams_restores_total": ("counter", "Tasks whose state was restored from the log."),
    "kstreams_restore_seconds_total": ("counter", "How long that took."),
    "kstreams_task_moves_total": ("counter", "Tasks that ran on another worker than before."),
    "kstreams_log_requests_total": ("counter", "Requests to the durable log."),
    "kstreams_log_bytes_total": ("counter", "Bytes of the durable log that were asked for."),
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
    found["kstreams_app_heard_timestamp_seconds"].add(live.heard_ms / _MS, app=app)
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
