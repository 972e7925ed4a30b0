"""Telemetry files can be read by any process; damaged and later formats are handled."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kstreams import INT64, TEXT, DeadLetter, Topic, TopologyBuilder
from kstreams.checkpoint.pause import Pause
from kstreams.checkpoint.storage.directory_home import DirectoryHome
from kstreams.errors import (
    CheckpointMismatchError,
    DeserializationError,
    ProcessingError,
    StateCorruptError,
    StoreError,
)
from kstreams.ids import TaskId, TopicPartition
from kstreams.telemetry.counters import Counters
from kstreams.telemetry.failures import Failure
from kstreams.telemetry.formats import COUNTERS, FAILURES, LIVE, MINUTES, TOPOLOGY, to_bytes
from kstreams.telemetry.live import Live, LiveQuery
from kstreams.telemetry.minutes import Minute
from kstreams.telemetry.outline import Outline
from kstreams.telemetry.report_lines import reports_name, to_line
from kstreams.telemetry.unread import Unread
from kstreams_admin.telemetry_reader import TelemetryReader
from tests.support.apps.committing_app import topology
from tests.support.apps.counts_store import COUNTS
from tests.support.apps.sample_reports import report

PLACE = TopicPartition("lines", 3)
LIVING = Live(
    "shop",
    "9f0c",
    "running",
    started_ms=1,
    written_ms=5_000,
    every_ms=1_000,
    paused=Pause(7, "a move"),
    spark_ui="http://x:4040",
    version="1",
    lost=2,
    queries={"lines": LiveQuery(7, "job", 5, 6, {PLACE: Unread(3, 9, 4)}, 8)},
)


@pytest.fixture
def home(tmp_path: Path) -> DirectoryHome:
    return DirectoryHome(tmp_path)


def test_app_without_telemetry_is_read_as_empty(home: DirectoryHome) -> None:
    reader = TelemetryReader(home)
    assert (reader.live(), reader.counters(), reader.topology()) == (None, None, None)
    assert (reader.reports("q"), reader.minutes(), reader.failures()) == ([], [], [])


def test_all_written_telemetry_is_read_unchanged(home: DirectoryHome) -> None:
    files, reader = home.telemetry(), TelemetryReader(home)
    counters = Counters("9f0c", 5)
    counters.add(report())
    outline = Outline.of(topology(COUNTS), {"in": 2})
    failure = Failure(5, "9f0c", "StoreError", "", "why", "what", {"group": "g", "partition": 3})
    files.replace(LIVE, to_bytes(LIVING.to_json()))
    files.replace(COUNTERS, to_bytes(counters.to_json()))
    files.replace(TOPOLOGY, to_bytes(outline.to_json()))
    files.append(reports_name("a/b"), [to_bytes(to_line(report(n))) for n in (1, 2)])
    files.append(MINUTES, [to_bytes(Minute.of(report(n)).to_json()) for n in (1, 2)])
    files.append(FAILURES, [to_bytes(failure.to_json())] * 25)
    assert reader.live() == LIVING
    assert reader.counters() == counters
    assert reader.topology() == outline
    assert reader.reports("a/b") == [report(1, query="a/b"), report(2, query="a/b")]
    assert reader.minutes() == [Minute.of(report(1)) + Minute.of(report(2))]
    assert reader.failures() == [failure] * 20


@pytest.mark.parametrize("name", [LIVE, COUNTERS, TOPOLOGY])
def test_document_of_later_format_is_rejected(home: DirectoryHome, name: str) -> None:
    home.telemetry().replace(name, b'{"f": 2}')
    reader = TelemetryReader(home)
    read: dict[str, Callable[[], object]] = {
        LIVE: reader.live,
        COUNTERS: reader.counters,
        TOPOLOGY: reader.topology,
    }
    with pytest.raises(CheckpointMismatchError, match=r"is of format 2.*reads formats up to 1"):
        read[name]()


def test_dead_letter_topics_of_topology_are_read_and_default_to_none(
    home: DirectoryHome,
) -> None:
    builder = TopologyBuilder("a", on_error=DeadLetter("failed"))
    lines = builder.add_source("in", Topic("in", TEXT, INT64))
    builder.add_sink("out", Topic("out", TEXT, INT64), lines, on_refused=DeadLetter("refused"))
    outline = Outline.of(builder.build(), {"in": 2})
    assert outline.dead_letters == (("in", "failed"), ("out", "refused"))
    files, reader = home.telemetry(), TelemetryReader(home)
    files.replace(TOPOLOGY, to_bytes(outline.to_json()))
    assert reader.topology() == outline
    earlier = {name: each for name, each in outline.to_json().items() if name != "dead_letters"}
    files.replace(TOPOLOGY, to_bytes(earlier))
    assert reader.topology() == replace(outline, dead_letters=())


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{", b'{"f": "1"}', b'{"f": 1}', b'{"f": 1, "app": 3}', b"[" * 100_000]
)
def test_damaged_document_raises_and_damaged_line_is_skipped(
    home: DirectoryHome, data: bytes
) -> None:
    files, reader = home.telemetry(), TelemetryReader(home)
    files.replace(LIVE, data)
    with pytest.raises(StateCorruptError, match=r"live\.json"):
        reader.live()
    files.append(reports_name("lines"), [data, to_bytes(to_line(report()))])
    assert reader.reports("lines") == [report()]


def test_line_of_later_format_is_rejected(home: DirectoryHome) -> None:
    home.telemetry().append(MINUTES, [b'{"f": 2}'])
    with pytest.raises(CheckpointMismatchError, match="run that version"):
        TelemetryReader(home).minutes()


def test_line_with_many_tasks_and_partitions_is_small() -> None:
    task = report().tasks[0]
    tasks = tuple(replace(task, task=TaskId("by-word", n)) for n in range(5_000))
    lag = {TopicPartition("lines", n): n for n in range(5_000)}
    line = to_line(replace(report(), tasks=tasks, lag=lag))
    assert len(line["tasks"]) == len(line["lag"]) == 256
    assert line["lag"]["lines/4999"] == 4_999
    assert len(to_bytes(line)) < 64_000


def test_keys_of_errors_and_texts_that_may_quote_records_are_not_written() -> None:
    quoting = [
        ProcessingError("ValueError in a processor: 'secret'", cause_type="builtins.ValueError"),
        DeserializationError("no JSON: secret"),
        StoreError("no room").at(topic="lines", offset=3, key="secret"),
    ]
    for error in quoting:
        without_text = Failure.of(error.at(node="n", key="secret"), ms=1, run="r", texts=False)
        assert "secret" not in json.dumps(without_text.to_json())
        assert (without_text.kind, without_text.where["node"]) == (type(error).__name__, "n")
        with_text = Failure.of(error, ms=1, run="r", texts=True)
        assert with_text.message == error.message
    plain = Failure.of(StoreError("no room on the disk"), ms=1, run="r", texts=False)
    assert plain.message == "no room on the disk"


def test_app_is_alive_for_five_heartbeats() -> None:
    assert LIVING.is_current(10_000)
    assert not LIVING.is_current(10_001)
    assert LIVING.queries["lines"].lag == 6


def test_reading_telemetry_needs_no_spark() -> None:
    code = "import sys, kstreams_admin.telemetry_reader as r; assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
