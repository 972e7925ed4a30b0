"""Telemetry of an app on Spark, during a run and after a failure."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kstreams import TEXT, Topic, Topology, TopologyBuilder
from kstreams.batch.messages.worker_times import TASK_PHASES
from kstreams.batch.progress import BATCH_PHASES
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.errors import ProcessingError
from kstreams.ids import TaskId, TopicPartition
from kstreams.operators import map_values
from kstreams.task.progress.drop_sample import DropSample
from kstreams.topology import OnError
from kstreams_admin.telemetry_reader import TelemetryReader
from tests.support.spark.bench import Bench

pytestmark = pytest.mark.spark

IN = Topic("in", TEXT, TEXT)
OUT = Topic("out", TEXT, TEXT)
SECRET = "4711-a-secret"


def slow(value: str) -> str:
    end = time.perf_counter() + 0.02
    while time.perf_counter() < end:
        pass
    if value == SECRET:
        raise ValueError(value)
    return value


def topology(policy: OnError) -> Topology:
    builder = TopologyBuilder("told")
    source = builder.add_source("in", IN, on_error=policy)
    worked = builder.add_processor("work", map_values(slow), source)
    again = builder.repartition("again", worked, key=TEXT, value=TEXT)
    builder.add_sink("out", OUT, again)
    return builder.build()


def test_app_reports_its_batches_and_its_end(bench: Bench) -> None:
    bench.create(IN, OUT)
    bench.emit(IN, [(f"k{n}", "v") for n in range(20)])
    bench.emit(IN, [("k0", SECRET)])
    bench.run(topology("skip"))
    reader = TelemetryReader(home_of(bench.checkpoint))
    live, outline, counters = reader.live(), reader.topology(), reader.counters()
    assert live is not None
    assert (live.app, live.state, live.queries["in"].committed) == ("told", "stopped", 0)
    assert outline is not None
    assert [group.tasks for group in outline.groups] == [2, 2]
    assert ("work", "again") in outline.edges

    (report,) = reader.reports("in")
    (expected,) = bench.reports
    assert (report.records, report.nodes, report.tasks) == (
        expected.records,
        expected.nodes,
        expected.tasks,
    )
    assert report.dropped == {"skipped-ProcessingError": 1}
    assert [sample[:3] for sample in report.samples] == [
        ("in", "skipped-ProcessingError", bench_place(bench))
    ]
    assert isinstance(report.samples[0], DropSample)
    assert set(report.phases) == set(BATCH_PHASES)
    assert 0 < report.phases["job"] < report.seconds
    tasks = {task.task: task for task in report.tasks}
    assert set(tasks) == {TaskId(group, n) for group in ("in", "again") for n in range(2)}
    assert all(set(task.seconds) <= set(TASK_PHASES) for task in tasks.values())
    assert all(task.attempts == 1 and not task.restored for task in tasks.values())
    assert report.node_seconds["work"] > sum(report.node_seconds.values()) / 2
    assert report.latency.count == 21
    assert sum(report.lag.values()) == 0
    assert counters is not None
    assert counters.queries["in"].durations["job"].counts.count(1) == 1
    (minute,) = reader.minutes()
    assert (minute.batches, minute.source_records) == (1, 21)

    bench.emit(IN, [("k1", SECRET)])
    with pytest.raises(ProcessingError, match=SECRET):
        bench.run(topology("fail"))
    failed, (failure,) = reader.live(), reader.failures()
    assert failed is not None
    assert (failed.state, failed.run) == ("failed", failure.run)
    assert failure.cause == "builtins.ValueError"
    assert (failure.where["node"], failure.where["topic"]) == ("work", "in")
    assert failure.message is None
    assert_no_secret(Path(bench.checkpoint) / "telemetry")


def bench_place(bench: Bench) -> TopicPartition:
    place = next(raw for raw in bench.raw(IN) if raw.value == SECRET.encode())
    return TopicPartition(place.topic, place.partition)


def assert_no_secret(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 6
    for path in files:
        data = path.read_bytes()
        assert SECRET.encode() not in data, path
        assert b"k0" not in data, path
