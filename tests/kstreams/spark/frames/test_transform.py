"""Topologies on DataFrames give the results of the test driver."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from devtools.servers.s3 import Bucket
from kstreams import Record, Topic, Topology
from kstreams.frames import Operator, transform_frames
from kstreams.state import StateBackend
from kstreams.testing import TopologyTestDriver
from kstreams_rocksdb import RocksDB
from tests.support.spark.file_streams import Row, Streams, by_topic
from tests.support.topologies.frame_topologies import (
    CLOSED,
    COUNTS,
    LINES,
    WORDS,
    windowed_count,
    word_count,
)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

TEXT_LINES = [
    [Record(b"%d" % n, line, n) for n, line in enumerate(lines, start=first)]
    for first, lines in [(0, ["a b a", "c a", "b b"]), (3, ["a", "c c d", "d a b"])]
]
WINDOW_WORDS = [
    [Record(word, word, time) for word, time in batch]
    for batch in [
        [("a", 1), ("b", 3), ("a", 9), ("c", 12)],
        [("b", 21), ("a", 14), ("a", 2), ("c", 35), ("b", 33)],
    ]
]
CASES: list[tuple[str, Callable[[], Topology], Topic[Any, Any], Any, list[Topic[Any, Any]]]] = [
    ("edge", word_count, LINES, TEXT_LINES, [WORDS, COUNTS]),
    ("windows", windowed_count, WORDS, WINDOW_WORDS, [CLOSED]),
]


@pytest.fixture
def streams(tmp_path: Path, stream_session: SparkSession) -> Streams:
    return Streams(tmp_path, stream_session)


def on_driver(
    topology: Topology,
    source: Topic[Any, Any],
    batches: Sequence[Sequence[Record[Any, Any]]],
    sinks: Sequence[Topic[Any, Any]],
    *,
    close_windows: bool = False,
) -> dict[str, list[Row]]:
    with TopologyTestDriver(topology, partitions=2) as driver:
        for (
            batch
        ) in batches:  # a task processes the records of one batch in the order of their times
            driver.pipe_batch(source, sorted(batch, key=lambda record: record.timestamp))
        if close_windows:
            driver.close_windows()
        return {
            topic.name: sorted(
                ((r.key, r.value, r.timestamp) for r in driver.read(topic)), key=repr
            )
            for topic in sinks
        }


ON_STREAMS: list[tuple[Any, Operator]] = [
    (CASES[0], "transform-with-state"),
    (CASES[0], "group-state"),
    (CASES[1], "transform-with-state"),
]
"""Windows by `group-state` run on Spark Connect.

The first case has its state in RocksDB and on S3.
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("case", "operator"), ON_STREAMS, ids=[f"{case[0]}-{name}" for case, name in ON_STREAMS]
)
def test_stream_gives_results_of_test_driver(
    streams: Streams, request: pytest.FixtureRequest, case: Any, operator: Operator
) -> None:
    name, make, source, batches, sinks = case
    state: StateBackend = streams.state
    if (name, operator) == ("edge", "transform-with-state"):
        bucket: Bucket = request.getfixturevalue("bucket")
        log = bucket.settings(f"frames-{uuid.uuid4().hex[:8]}")
        state = RocksDB(directory=str(streams.home / "local"), log=log)
    if operator == "group-state" and len(make().groups) > 1:
        streams.session.conf.set("spark.sql.streaming.unsupportedOperationCheck", "false")
    for batch in batches:
        streams.write(source, batch)
    results = transform_frames(
        make(),
        {source: streams.stream(source)},
        state=state,
        tasks=2,
        operator=operator,
        packages="auto" if name == "windows" else (),  # the modules of the other tests exceed 1 MB
    )
    try:
        streams.run(results.all)
    finally:
        streams.session.conf.unset("spark.sql.streaming.unsupportedOperationCheck")
    assert by_topic(streams.read(), sinks) == on_driver(make(), source, batches, sinks)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_bounded_frame_gives_all_results_in_one_batch(streams: Streams, case: Any) -> None:
    _, make, source, batches, sinks = case
    for batch in batches:
        streams.write(source, batch)
    results = transform_frames(make(), {source: streams.bounded(source)}, tasks=2, packages=())
    whole = [[record for batch in batches for record in batch]]
    expected = on_driver(make(), source, whole, sinks, close_windows=True)
    assert {t.name: by_topic(results.all, [t])[t.name] for t in sinks} == expected
