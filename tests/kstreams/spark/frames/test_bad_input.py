"""Invalid frames and topologies are rejected before the query runs, with a hint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from kstreams import BYTES, INT64, TEXT, Topic, Topology, TopologyBuilder
from kstreams.errors import CompileError
from kstreams.frames import ResultFrames, SourceFrame, transform_frames
from kstreams.operators import limit
from kstreams.state.backend.memory import Memory
from kstreams.topology import to_stdout
from tests.support.spark.file_streams import SETTINGS, Streams
from tests.support.topologies.frame_topologies import (
    COUNTS,
    KINDS,
    LINES,
    WORDS,
    joined_count,
    word_count,
)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

NUMBERS = Topic("numbers", TEXT, INT64)


@pytest.fixture
def streams(tmp_path: Path, stream_session: SparkSession) -> Iterator[Streams]:
    yield Streams(tmp_path, stream_session)
    for name, value in SETTINGS.items():
        stream_session.conf.set(name, value)


def start(frame: DataFrame | SourceFrame, **options: object) -> ResultFrames:
    given = {"packages": (), "tasks": 2, **options}
    return transform_frames(word_count(), {LINES: frame}, **given)  # type: ignore[arg-type]


def printing() -> Topology:
    builder = TopologyBuilder("printing")
    builder.add_sink("shown", to_stdout(), builder.add_source("lines", LINES))
    return builder.build()


def test_frames_reject_topology_with_limits() -> None:
    builder = TopologyBuilder("limited")
    first = builder.add_processor("first", limit(3), builder.add_source("lines", LINES))
    builder.add_sink("out", Topic("out", LINES.key, LINES.value), first)
    with pytest.raises(CompileError, match="has limits, which DataFrames do not support") as caught:
        transform_frames(builder.build(), {})
    assert "App" in caught.value.hint


COLUMNS: list[tuple[str, str, Callable[[DataFrame], DataFrame | SourceFrame], str]] = [
    ("no value", "key binary", lambda f: f, "has no column 'value' for the value"),
    ("named", "value binary", lambda f: SourceFrame(f, key="id"), "has no column 'id' for the key"),
    ("key type", "key int, value binary", lambda f: f, "'key' of topic 'lines' is int"),
    ("time type", "value binary, timestamp date", lambda f: f, "'timestamp' .* is date"),
    ("headers", "value binary, headers string", lambda f: f, "'headers' .* is string"),
]


@pytest.mark.parametrize(
    ("schema", "given", "says"), [c[1:] for c in COLUMNS], ids=[c[0] for c in COLUMNS]
)
def test_frame_without_required_columns_is_rejected(
    streams: Streams, schema: str, given: Callable[[DataFrame], DataFrame], says: str
) -> None:
    frame = streams.session.createDataFrame([], schema)
    with pytest.raises(CompileError, match=says) as caught:
        start(given(frame))
    assert "SourceFrame(frame, " in caught.value.hint


def test_frame_missing_for_topic_or_given_for_unread_topic_is_rejected(streams: Streams) -> None:
    frame = streams.session.createDataFrame([], "value binary")
    with pytest.raises(CompileError, match="no DataFrame for 'lines'"):
        transform_frames(word_count(), {}, packages=())
    with pytest.raises(CompileError, match="does not read 'numbers'; it reads 'lines'"):
        transform_frames(word_count(), {LINES: frame, NUMBERS: frame}, packages=())


def test_input_that_is_not_a_frame_or_frames_of_different_sessions_are_rejected(
    streams: Streams,
) -> None:
    with pytest.raises(CompileError, match="of 'lines' must be a Spark DataFrame, not list"):
        start([(b"key", b"value")])  # type: ignore[arg-type]  # the invalid argument
    frame = streams.session.createDataFrame([], "value binary")
    other = streams.session.newSession().createDataFrame([], "value binary")
    with pytest.raises(CompileError, match="'kinds' and 'words' are of different sessions"):
        transform_frames(joined_count(), {KINDS: frame, WORDS: other}, packages=())


def test_stream_without_durable_log_is_rejected(streams: Streams) -> None:
    for state in (None, Memory()):
        with pytest.raises(CompileError, match="needs a durable log"):
            start(streams.stream(LINES), state=state)


def test_too_many_shuffle_partitions_are_rejected(streams: Streams) -> None:
    streams.session.conf.set("spark.sql.shuffle.partitions", "200")
    with pytest.raises(CompileError, match=r"spark\.sql\.shuffle\.partitions is 200") as caught:
        start(streams.stream(LINES), state=streams.state)
    assert 'spark.conf.set("spark.sql.shuffle.partitions", "2")' in caught.value.hint


def test_stateful_operator_that_session_does_not_support_is_rejected(streams: Streams) -> None:
    with pytest.raises(CompileError, match="does not chain applyInPandasWithState"):
        start(streams.stream(LINES), state=streams.state, operator="group-state")
    streams.session.conf.unset("spark.sql.streaming.stateStore.providerClass")
    for operator in ("auto", "transform-with-state"):
        with pytest.raises(CompileError, match="needs Spark's RocksDB state store"):
            start(streams.stream(LINES), state=streams.state, operator=operator)


def test_printing_sink_is_rejected(streams: Streams) -> None:
    frame = streams.session.createDataFrame([], "value binary")
    with pytest.raises(CompileError, match="prints on the driver"):
        transform_frames(printing(), {LINES: frame}, packages=())


def test_topic_without_writer_is_rejected(streams: Streams) -> None:
    results = start(streams.session.createDataFrame([], "value binary"))
    assert results[COUNTS].columns == ["key", "value", "timestamp", "headers"]
    assert results[WORDS].columns == results["words"].columns
    with pytest.raises(CompileError, match="does not write to topic 'numbers'") as caught:
        results[NUMBERS]
    assert "'counts', 'word-count-dropped', 'words'" in caught.value.hint


def test_second_selection_of_stream_results_warns(streams: Streams) -> None:
    bounded = start(streams.session.createDataFrame([], "value binary"))
    assert bounded[COUNTS].columns == bounded[WORDS].columns  # computed again for each selection
    results = start(streams.stream(LINES), state=streams.state)
    assert results[COUNTS].columns == results["counts"].columns
    warning = r"after \['counts'\]: each .* the whole topology"
    with pytest.warns(UserWarning, match=warning):
        assert results[WORDS].columns
    with pytest.warns(UserWarning, match=warning):
        assert results.all.columns
    with pytest.warns(UserWarning, match=warning):
        assert results.dropped.columns == [
            "task", "node", "reason", "count", "batch", "timestamp"
        ]  # fmt: skip


def test_sink_topic_with_name_of_dropped_counts_topic_is_rejected(streams: Streams) -> None:
    frame = streams.session.createDataFrame([], "value binary")
    builder = TopologyBuilder("lost")
    lines = builder.add_source("lines", LINES)
    builder.add_sink("lost", Topic("lost-dropped", BYTES, TEXT), lines)
    topology = builder.build()
    with pytest.raises(CompileError, match="writes to topic 'lost-dropped'"):
        transform_frames(topology, {LINES: frame}, packages=())
    assert transform_frames(topology, {LINES: frame}, app_id="kept", packages=()).dropped.columns
