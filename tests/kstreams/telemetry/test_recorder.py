"""The recorder writes in the background, delays no batch, and survives disk errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from kstreams import TEXT, Embedded, TopologyBuilder
from kstreams.batch.progress import Doing
from kstreams.batch.report import AppState
from kstreams.checkpoint.storage.directory_home import DirectoryHome
from kstreams.clock import FakeClock
from kstreams.errors import StoreError
from kstreams.ids import TopicPartition
from kstreams.log import LogContents, RetainedSize
from kstreams.telemetry import recorder as recording
from kstreams.telemetry.live import Live
from kstreams.telemetry.outline import Outline
from kstreams.telemetry.recorder import Recorder
from kstreams.telemetry.unread import Unread
from kstreams.telemetry.watching import OpenApp, OpenQuery
from kstreams.testing import RecordingSink
from kstreams_admin.telemetry_reader import TelemetryReader
from kstreams_generated_logs.item_log import ItemLog, items
from kstreams_generated_logs.numbered import NumberedContents
from tests.support.apps.committing_app import topology
from tests.support.apps.counts_store import COUNTS
from tests.support.apps.sample_reports import report


@pytest.fixture
def home(tmp_path: Path) -> DirectoryHome:
    return DirectoryHome(tmp_path / "checkpoint")


@pytest.fixture
def recorder(home: DirectoryHome) -> Iterator[Recorder]:
    made = Recorder(home, app="shop", run="9f0c", clock=FakeClock(120_000))
    yield made
    made.close()


def until(done: Callable[[], bool]) -> None:
    moment = threading.Event()
    for _ in range(1_000):
        if done():
            return
        moment.wait(0.01)
    raise AssertionError("the condition was not met within 10 s")


def test_recorder_writes_reports_minutes_counters_and_failures(
    home: DirectoryHome, recorder: Recorder
) -> None:
    recorder.begin()
    recorder.entered(AppState.RUNNING)
    for batch in (1, 2, 3):
        recorder.committed(report(batch))
    recorder.failed(StoreError("no room").at(group="g"))
    recorder.entered(AppState.FAILED)
    recorder.close()
    reader = TelemetryReader(home)
    live, counters = reader.live(), reader.counters()
    assert live is not None
    assert (live.state, live.written_ms, live.lost) == ("failed", 120_000, 0)
    assert reader.reports("lines") == [report(batch) for batch in (1, 2, 3)]
    assert [minute.batches for minute in reader.minutes()] == [3]
    assert counters is not None
    assert counters.queries["lines"].batches == 3
    restores, seconds = counters.queries["lines"].restores["by/word"]
    assert (restores, round(seconds, 6)) == (3, 0.15)
    assert [(each.kind, each.message) for each in reader.failures()] == [("StoreError", "no room")]


def test_recorder_writes_summary_of_minute_when_it_is_complete(home: DirectoryHome) -> None:
    clock = FakeClock(120_000)
    recorder = Recorder(home, app="shop", run="9f0c", clock=clock)
    for batch, ms in ((1, 120_500), (2, 121_000), (3, 185_000)):
        recorder.committed(report(batch, ms=ms))
    recorder._write(home.telemetry(), ends=False)
    assert [(m.start_ms, m.batches) for m in TelemetryReader(home).minutes()] == [(120_000, 2)]
    clock.advance(timedelta(seconds=121))
    recorder._write(home.telemetry(), ends=False)
    assert [m.start_ms for m in TelemetryReader(home).minutes()] == [120_000, 180_000]


def test_recorder_drops_and_counts_reports_beyond_queue_limit(
    home: DirectoryHome, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch in range(recording._MOST_WAITING + 5):  # nothing is written yet, and no call waits
        recorder.committed(report(batch))
    recorder._write(home.telemetry(), ends=False)
    live = TelemetryReader(home).live()
    assert live is not None
    assert live.lost == 5


def test_disk_error_of_recorder_fails_no_batch_and_is_logged_once(
    home: DirectoryHome, recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    folder = home.path / "telemetry"
    home.path.mkdir()
    folder.write_text("in the way")
    recorder.begin()
    until(lambda: "cannot be written" in caplog.text)
    folder.unlink()
    recorder.entered(AppState.RUNNING)
    until(lambda: TelemetryReader(home).live() is not None)
    assert caplog.text.count("cannot be written") == 1


class Keeping(ItemLog[str]):
    """A list whose storage fills up until a commit."""

    def contents(self) -> LogContents:
        return _Kept(self, FakeClock(0))


class _Kept(NumberedContents):
    def retained(self) -> RetainedSize | None:
        return RetainedSize(3_000, 500)


def test_live_state_has_bytes_retained_for_log(
    home: DirectoryHome, recorder: Recorder, tmp_path: Path
) -> None:
    builder = TopologyBuilder("keeping")
    words = builder.add_source("words", Keeping("words", ("a", "b", "c"), TEXT))
    plain = builder.add_source("plain", items("plain", ["d"], TEXT))
    for node in (words, plain):
        builder.add_sink(f"out-{node.name}", RecordingSink[None, str](), node)
    graph = builder.build()
    place = TopicPartition("words", 0)
    doing = Doing(4, "job", 7)
    queries = {
        source.name: OpenQuery((source,), lambda: doing, lambda: 3, lambda: {place: 1})
        for source in graph.sources
    }
    outline = Outline.of(graph, dict.fromkeys(queries, 1))
    recorder.begin()
    recorder.opened(OpenApp(outline, queries, Embedded(tmp_path / "topics")))
    reader = TelemetryReader(home)

    def complete_live() -> Live | None:
        live = reader.live()
        known = live is not None and live.queries and live.queries["words"].ends_ms is not None
        return live if known else None

    until(lambda: complete_live() is not None)
    live = complete_live()
    assert live is not None
    assert live.queries["words"].partitions == {place: Unread(1, 3)}
    assert {n: query.kept for n, query in live.queries.items()} == {
        "words": {"words": RetainedSize(3_000, 500)},
        "plain": {},
    }
    found = reader.topology()
    assert found == outline
    assert [(node.topic, node.log) for node in outline.logs()] == [
        ("words", "3 items"),
        ("plain", "1 items"),
    ]


def test_live_state_has_lag_of_each_partition(
    home: DirectoryHome, recorder: Recorder, tmp_path: Path
) -> None:
    graph = topology(COUNTS)
    topics = Embedded(tmp_path / "topics", default_partitions=1, durable=False)
    place = TopicPartition(graph.sources[0].topic.name, 0)
    with closing(topics.writer()) as writer:
        for n in range(5):
            writer.write(*place, b"k", b"v", 1_000 + n)
    query = OpenQuery(graph.sources, lambda: Doing(4, "job", 7), lambda: 3, lambda: {place: 2})
    recorder.begin()
    recorder.opened(OpenApp(Outline.of(graph, {"in": 1}), {"in": query}, topics, "http://ui"))

    def known() -> bool:
        live = TelemetryReader(home).live()
        return live is not None and bool(live.queries) and bool(live.queries["in"].partitions)

    until(known)
    live = TelemetryReader(home).live()
    assert live is not None
    found = live.queries["in"]
    assert (found.batch, found.phase, found.committed, live.spark_ui) == (4, "job", 3, "http://ui")
    assert found.partitions == {place: Unread(2, 5, 1_002)}
    outline = TelemetryReader(home).topology()
    assert outline == Outline.of(graph, {"in": 1})
