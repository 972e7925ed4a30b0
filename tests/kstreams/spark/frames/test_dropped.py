"""Dropped records are counted in the results of a query."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from kstreams import BYTES, INT64, TEXT, DeadLetter, Record, Topic, Topology, TopologyBuilder
from kstreams.aggregators import count
from kstreams.emit import each_update
from kstreams.frames import dropped_counts, transform_frames
from kstreams.operators import map_values
from kstreams.stores import window_store
from kstreams.topology import OnError
from kstreams.windows import windowed, windowed_aggregate
from tests.support.spark.file_streams import Streams
from tests.support.topologies.frame_topologies import TUMBLING

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PAGES = Topic("pages", TEXT, TEXT)
RAW = Topic("pages", BYTES, BYTES)
COUNTED = Topic("counted", windowed(TEXT, TUMBLING), INT64)
BATCHES: list[list[Record[bytes | None, bytes]]] = [
    [Record(b"a", b"a", 1), Record(b"b", b"b", 3), Record(None, b"c", 5), Record(b"a", b"a", 25)],
    [Record(b"a", b"late", 2), Record(b"a", b"\xff", 30), Record(b"b", b"bad", 31)],
]


def checked(value: str) -> str:
    if value == "bad":
        raise ValueError(value)
    return value


def topology(policy: OnError) -> Topology:
    builder = TopologyBuilder("dropping")
    pages = builder.add_source("pages", PAGES, on_error=policy)
    pages = builder.add_processor("check", map_values(checked), pages)
    store = window_store("counts", key=TEXT, value=INT64)
    counting = windowed_aggregate(TUMBLING, count(), store=store, emit=each_update())
    builder.add_sink("counted", COUNTED, builder.add_processor("count", counting, pages))
    return builder.build()


def counted(frame: DataFrame) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in frame.collect():
        found[row["reason"]] += row["count"]
    return found


def check(rows: DataFrame, dropped: Counter[str], letters: int) -> None:
    assert dropped["late"] == dropped["null-key"] == 1
    failed = {reason: n for reason, n in dropped.items() if reason.startswith("dead-letter-")}
    assert sum(failed.values()) == letters == rows.where("topic = 'letters'").count()
    out = rows.where("topic = 'counted'").count()
    assert out + dropped.total() == sum(map(len, BATCHES))


def test_input_equals_output_plus_dropped_plus_dead_letters(
    tmp_path: Path, stream_session: SparkSession
) -> None:
    streams = Streams(tmp_path, stream_session)
    for batch in BATCHES:
        streams.write(RAW, batch)
    results = transform_frames(
        topology(DeadLetter("letters")),
        {PAGES: streams.stream(PAGES)},
        state=streams.state,
        tasks=2,
        packages=(),
    )
    streams.run(results.with_dropped)
    written = streams.read()
    dropped = dropped_counts(written.where("sink = 'dropped:pages'"))
    assert {row["batch"] for row in dropped.collect()} <= {1, 2}
    assert {row["task"].rpartition("/")[0] for row in dropped.collect()} == {"pages"}
    check(written, counted(dropped), letters=2)


def test_skipped_records_are_counted(tmp_path: Path, stream_session: SparkSession) -> None:
    streams = Streams(tmp_path, stream_session)
    for batch in BATCHES:
        streams.write(RAW, batch)
    frame = streams.bounded(PAGES).where("value != X'6C617465'")
    results = transform_frames(topology("skip"), {PAGES: frame}, tasks=2, packages=())
    assert counted(results.dropped) == {
        "null-key": 1,
        "skipped-DeserializationError": 1,
        "skipped-ProcessingError": 1,
    }
    assert results.all.where("topic <> 'counted'").count() == 0
    assert results.with_dropped.where(f"topic = '{results.dropped_topic}'").count() == 3


def test_dropped_counts_are_in_progress_of_query_if_not_selected(
    tmp_path: Path, stream_session: SparkSession
) -> None:
    streams = Streams(tmp_path, stream_session)
    for batch in BATCHES:
        streams.write(RAW, batch)
    results = transform_frames(
        topology("skip"),
        {PAGES: streams.stream(PAGES)},
        state=streams.state,
        tasks=2,
        packages=(),
    )
    query = streams.run(results.all)
    observed = [
        each["observedMetrics"][results.dropped_topic]["records"]
        for each in query.recentProgress
        if each["numInputRows"]
    ]
    assert observed == [1, 3]
    assert {row["topic"] for row in streams.read().collect()} == {"counted"}
