"""Metrics for Prometheus: the counts of commits, without data of records."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from kstreams import Embedded
from kstreams.checkpoint.pause import pause
from kstreams.checkpoint.savepoint.store_place import checkpoint_of
from kstreams.clock import FakeClock
from kstreams.connection import Connection
from kstreams.ids import TopicPartition
from kstreams.log import RetainedSize
from kstreams.state.log.commits import Commit
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.topic_counts import TopicCounts
from kstreams.state.log.totals import NodeCounts, PartitionCounts, Totals
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.telemetry.counters import Counters
from kstreams.telemetry.formats import COUNTERS, LIVE, TOPOLOGY, to_bytes
from kstreams.telemetry.live import Live, LiveQuery
from kstreams.telemetry.outline import GroupOutline, NodeOutline, Outline
from kstreams.telemetry.unread import Unread, unread_of
from kstreams_serve.exposition import Family, exposition
from kstreams_serve.metrics import METRICS, LagWatch, Metrics
from kstreams_serve.served_app import AppSource, ServedApp
from kstreams_serve.settings import Limits
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.apps.sample_reports import report
from tests.support.servers.query_server import SCRAPER, serving

TABLE = TopicPartition("table", 0)
"""A partition of a log that is no topic."""
TOTALS = Totals(
    {"in": NodeCounts(12, 8, 1, {"null-key": 1, 'odd "x"\n\\': 2}), "keep": NodeCounts(8, 3)},
    {"in": {TopicPartition("in", 2): PartitionCounts(11, 1)}},
    {"in": TopicCounts(11, 900), "out": TopicCounts(0, 0, 3, 50)},
)
_SAMPLE = re.compile(r'[a-z_]+(\{([a-z_]+="(\\.|[^"\\\n])*"(,|(?=\})))*\})? -?[0-9.e+]+')


def committed(path: Path, totals: Totals = TOTALS) -> Committing:
    app = Committing(path, COUNTS)
    app.put([("secret-key", 1)])
    meta = TaskMeta(stream_time=5_000).to_json()
    tasks = {
        task: Pointer.from_json(text).with_meta(meta).to_json()
        for task, text in app.commits.at(0).tasks.items()
    }
    positions = {TopicPartition("in", 2): 4, TABLE: 3}
    commit = Commit(1, "run", 7_000, tasks, positions=positions, totals=totals)
    app.commits.append(commit)
    return app


def samples(text: str) -> dict[str, float]:
    """Return the value of each series; every line must be one, or a comment."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            assert _SAMPLE.fullmatch(line), line
            series, _, value = line.rpartition(" ")
            assert series not in found
            found[series] = float(value)
    return found


def watched(
    path: Path, connection: Connection | None = None, *, now_ms: int = 9_000
) -> list[Family]:
    """Return an app's metrics, with one read of its topics."""
    app = ServedApp(AppSource(checkpoint_of(path), lambda _, __: COUNTS), timedelta(1), Limits())
    lag = None if connection is None else LagWatch(connection, {"viewed": app})
    if lag is not None:
        lag.look()
    return list(Metrics({"viewed": app}, lag, clock=FakeClock(now_ms)).families())


def shown(families: Iterable[Family]) -> dict[str, float]:
    return samples(exposition(families, openmetrics=False))


def test_metrics_show_the_counts_of_the_last_commit(tmp_path: Path) -> None:
    committed(tmp_path)
    found = shown(watched(tmp_path))
    own = 'app="viewed",query="in"'
    part = f'{own},node="in",topic="in",partition="2"'
    assert found[f"kstreams_last_commit_timestamp_seconds{{{own}}}"] == 7
    assert found[f"kstreams_committed_batch{{{own}}}"] == 1
    assert found[f"kstreams_records_consumed_total{{{part}}}"] == 11
    assert found[f"kstreams_source_held_records{{{part}}}"] == 1
    node = f'kstreams_node_records_total{{{own},node="in",direction='
    assert (found[f'{node}"in"}}'], found[f'{node}"out"}}']) == (11, 8)
    dropped = f'kstreams_records_dropped_total{{{own},node="in",reason='
    assert found[f'{dropped}"null-key"}}'] == 1
    assert sum(n for name, n in found.items() if name.startswith(dropped)) == 3
    assert any(name.startswith("kstreams_state_bytes") for name in found)
    topic = f"kstreams_topic_bytes_total{{{own},topic="
    assert found[f'{topic}"in",direction="in"}}'] == 900
    assert found[f'{topic}"out",direction="out"}}'] == 50
    assert found[f'kstreams_topic_records_total{{{own},topic="out",direction="out"}}'] == 3
    times = {n for name, n in found.items() if name.startswith("kstreams_stream_time_seconds")}
    assert times == {5}
    assert not [name for name in found if "lag" in name or "unread" in name]
    assert found['kstreams_paused{app="viewed"}'] == 0
    pause(checkpoint_of(tmp_path), "why", 5)
    assert shown(watched(tmp_path))['kstreams_paused{app="viewed"}'] == 1


def with_telemetry(path: Path, *, written_ms: int) -> None:
    """Write the telemetry of an app."""
    counters = Counters("run", 5)
    for batch in (1, 2):
        counters.add(report(batch, query="in"))
    unread = {TopicPartition("in", 2): Unread(4, 9, written_ms - 1_500)}
    unread[TABLE] = Unread(3, 5)
    kept = {"table": RetainedSize(3_000, 500), "other": RetainedSize(70)}
    query = LiveQuery(2, "job", 5, 1, unread, written_ms, kept)
    live = Live("viewed", "run", "running", 5, written_ms, 1_000, queries={"in": query})
    nodes = (
        NodeOutline("keep", "sink", "out"),
        NodeOutline("rows", "source", "table", log="changes of a table"),
    )
    outline = Outline("viewed", "", (GroupOutline("in", "in", 3, nodes),))
    files = checkpoint_of(path).telemetry()
    files.replace(COUNTERS, to_bytes(counters.to_json()))
    files.replace(LIVE, to_bytes(live.to_json()))
    files.replace(TOPOLOGY, to_bytes(outline.to_json()))


def test_metrics_show_the_telemetry_of_the_app(tmp_path: Path) -> None:
    committed(tmp_path)
    with_telemetry(tmp_path, written_ms=60_000)
    found = shown(watched(tmp_path, now_ms=61_000))
    own = 'app="viewed",query="in"'
    assert found['kstreams_app_state{app="viewed",state="running"}'] == 1
    assert found['kstreams_app_state{app="viewed",state="failed"}'] == 0
    assert found['kstreams_app_heard_timestamp_seconds{app="viewed"}'] == 60
    job = f'{own},phase="job"'
    seconds = "kstreams_batch_duration_seconds"
    assert found[f"{seconds}_sum{{{job}}}"] == 0.4
    assert found[f'{seconds}_bucket{{{job},le="0.1"}}'] == 0
    assert found[f'{seconds}_bucket{{{job},le="0.25"}}'] == 2
    assert found[f'{seconds}_bucket{{{job},le="+Inf"}}'] == found[f"{seconds}_count{{{job}}}"] == 2
    assert found[f"kstreams_record_latency_seconds_count{{{own}}}"] == 10
    task = f'{own},group="by/word",partition="3",phase="process"'
    assert found[f"kstreams_task_busy_seconds_total{{{task}}}"] == 0.2
    assert found[f'kstreams_node_busy_ratio{{{own},node="count"}}'] == 0.6
    assert found[f'kstreams_store_rows{{{own},store="counts"}}'] == 1_200
    assert found[f'kstreams_restores_total{{{own},group="by/word"}}'] == 2
    assert found[f"kstreams_task_moves_total{{{own}}}"] == 2
    assert found[f'kstreams_log_requests_total{{{own},operation="put"}}'] == 2
    assert found[f'kstreams_log_bytes_total{{{own},operation="get"}}'] == 60
    assert found[f'kstreams_records_produced_total{{{own},node="keep",topic="out"}}'] == 3
    place = f'{own},topic="in",partition="2"'
    assert found[f"kstreams_source_lag_records{{{place}}}"] == 5
    assert found[f"kstreams_source_lag_seconds{{{place}}}"] == 2.5


def test_lag_of_a_log_that_is_not_a_topic_comes_from_telemetry(tmp_path: Path) -> None:
    """Topics are read, and the app has reported the state of a slot."""
    committed(tmp_path / "c")
    with_telemetry(tmp_path / "c", written_ms=60_000)
    topics = Embedded(tmp_path / "topics", default_partitions=3, durable=False)
    topics.log().ensure("in", 3)
    found = shown(watched(tmp_path / "c", topics, now_ms=61_000))
    own = 'app="viewed",query="in",topic='
    assert found[f'kstreams_source_lag_records{{{own}"table",partition="0"}}'] == 2
    assert found[f'kstreams_source_lag_records{{{own}"in",partition="2"}}'] == 0
    assert found[f'kstreams_source_kept_bytes{{{own}"table"}}'] == 3_000
    assert found[f'kstreams_source_room_bytes{{{own}"table"}}'] == 500
    assert f'kstreams_source_room_bytes{{{own}"other"}}' not in found


def test_lag_reported_by_a_dead_app_is_ignored(tmp_path: Path) -> None:
    committed(tmp_path)
    with_telemetry(tmp_path, written_ms=60_000)
    found = shown(watched(tmp_path, now_ms=66_000))
    assert found['kstreams_app_heard_timestamp_seconds{app="viewed"}'] == 60
    assert not [name for name in found if "lag" in name or "kept" in name]


def test_telemetry_of_a_later_format_hides_no_other_metric(tmp_path: Path) -> None:
    committed(tmp_path)
    checkpoint_of(tmp_path).telemetry().replace(LIVE, b'{"f": 2}')
    found = shown(watched(tmp_path))
    assert found['kstreams_app_readable{app="viewed"}'] == 1
    assert not [name for name in found if name.startswith("kstreams_app_state")]


def test_metrics_have_topic_lag_of_dead_app(tmp_path: Path) -> None:
    committed(tmp_path / "c")
    topics = Embedded(tmp_path / "topics", default_partitions=3, durable=False)
    topics.log().ensure("in", 3)
    times = pa.array([1_000 * n for n in range(9)], pa.int64())
    rows = pa.table({"timestamp": times, "key": [b"k"] * 9, "value": [b"v"] * 9})
    topics.log().append("in", 2, rows, producer="test", batch=0)
    found = shown(watched(tmp_path / "c", topics))
    part = 'app="viewed",query="in",topic="in",partition="2"'
    assert found[f"kstreams_source_lag_records{{{part}}}"] == 5
    assert found[f"kstreams_source_oldest_unread_timestamp_seconds{{{part}}}"] == 4
    assert found[f"kstreams_source_lag_seconds{{{part}}}"] == 5
    assert unread_of(topics, {TopicPartition("in", 2): 9, TopicPartition("gone", 0): 0}) == {
        TopicPartition("in", 2): Unread(9, 9)
    }


def test_metrics_without_reachable_topics_have_all_other_metrics(tmp_path: Path) -> None:
    class Broken:
        def admin(self) -> Any:
            raise OSError("no route to host")

        reader = writer = admin

    committed(tmp_path)
    found = shown(watched(tmp_path, Broken()))
    assert found['kstreams_app_readable{app="viewed"}'] == 1
    assert not [name for name in found if "lag" in name]


def test_unreadable_app_is_shown_by_a_metric(tmp_path: Path) -> None:
    app = committed(tmp_path)
    name = next(name for name in app.objects.list("commits/") if name.endswith("1.json"))
    (tmp_path / "state" / name).write_text("{}")
    assert shown(watched(tmp_path))['kstreams_app_readable{app="viewed"}'] == 0


def test_metrics_are_served_with_the_role_metrics(tmp_path: Path) -> None:
    committed(tmp_path)
    with serving((tmp_path, COUNTS)) as served:
        found = served.get("/metrics", token=SCRAPER)
        assert found.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        plain = samples(found.data.decode())
        assert b"secret-key" not in found.data
        told = served.get("/metrics", token=SCRAPER, Accept="application/openmetrics-text")
        text = told.data.decode()
        assert told.headers["content-type"].startswith("application/openmetrics-text")
        assert text.endswith("# EOF\n")
        assert "# TYPE kstreams_node_records counter" in text
        timed = 'kstreams_serve_request_duration_seconds_count{route="/metrics",code="200"}'
        assert samples(text).pop(timed) == 1
        names = {name for name in samples(text) if "_serve_request_" not in name}
        assert {name: samples(text)[name] for name in names} == plain
        assert served.get("/metrics", token=None).status == 401
        assert served.get("/v1/apps", token=SCRAPER).status == 403


def test_app_names_with_same_label_share_one_metric_series() -> None:
    family = Family("a_total", "counter", "Counts.")
    for end in ("x", "y"):
        family.add(1, node="n" * 300 + end)
    assert list(shown([family]).values()) == [2]


def test_metric_names_follow_the_conventions() -> None:
    for name, (kind, text) in METRICS.items():
        assert re.fullmatch(r"kstreams_[a-z_]+", name)
        assert name.endswith("_total") == (kind == "counter")
        assert text.endswith(".")
