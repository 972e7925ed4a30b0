"""On Spark Connect a topology gives the results of the test driver, streaming and bounded."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException

from kstreams import TEXT, Record, Topic, Topology, TopologyBuilder
from kstreams.errors import ProcessingError
from kstreams.frames import Operator, transform_frames
from kstreams.operators import map_values
from tests.kstreams.spark.frames.test_transform import CASES, TEXT_LINES, on_driver
from tests.support.spark.file_streams import Streams, by_topic
from tests.support.topologies.frame_topologies import COUNTS, LINES, WORDS, word_count

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SHOUTED = Topic("shouted", TEXT, TEXT)


ON_BOTH: list[tuple[Any, Operator]] = [
    (CASES[1], "transform-with-state"),
    (CASES[1], "group-state"),
]
"""A case with two sinks has the repartition by `transform-with-state` below."""


@pytest.mark.parametrize(("case", "operator"), ON_BOTH, ids=[operator for _, operator in ON_BOTH])
def test_stream_gives_results_of_test_driver(
    streams: Streams, case: Any, operator: Operator
) -> None:
    _, make, source, batches, sinks = case
    for batch in batches:
        streams.write(source, batch)
    results = transform_frames(
        make(),
        {source: streams.stream(source)},
        state=streams.state,
        tasks=2,
        operator=operator,
        packages=(),
    )
    streams.run(results.all)
    assert by_topic(streams.read(), sinks) == on_driver(make(), source, batches, sinks)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_bounded_frame_gives_all_results_in_one_batch(streams: Streams, case: Any) -> None:
    _, make, source, batches, sinks = case
    for batch in batches:
        streams.write(source, batch)
    bounded = {source: streams.bounded(source)}
    results = transform_frames(make(), bounded, tasks=2, packages=())
    whole = [[record for batch in batches for record in batch]]
    expected = on_driver(make(), source, whole, sinks, close_windows=True)
    assert by_topic(results.all, sinks) == expected


def test_results_of_two_sinks_are_written_by_one_query_that_splits_rows(streams: Streams) -> None:
    for batch in TEXT_LINES:
        streams.write(LINES, batch)
    results = transform_frames(
        word_count(),
        {LINES: streams.stream(LINES)},
        state=streams.state,
        tasks=2,
        packages=(),
    )
    query = (
        results.all.writeStream.format("parquet")
        .partitionBy("topic")
        .option("path", str(streams.home / "divided"))
        .option("checkpointLocation", str(streams.home / "divided-checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    expected = on_driver(word_count(), LINES, TEXT_LINES, [WORDS, COUNTS])
    assert by_topic(streams.read("divided"), [WORDS, COUNTS]) == expected


def failing() -> Topology:
    def shout(line: str) -> str:
        if line == "b":
            raise ValueError("no b here")
        return line.upper()

    builder = TopologyBuilder("failing")
    words = builder.add_source("words", WORDS)
    shouted = builder.add_processor("shout", map_values(shout), words)
    builder.add_sink("shouted", SHOUTED, shouted)
    return builder.build()


@pytest.mark.long
def test_error_of_task_reaches_client_with_its_type(streams: Streams) -> None:
    streams.write(WORDS, [Record("a", "a", 1), Record("b", "b", 2)])
    results = transform_frames(
        failing(),
        {WORDS: streams.stream(WORDS)},
        state=streams.state,
        tasks=2,
        packages=(),
    )
    with pytest.raises(PySparkException) as raised:
        streams.run(results.all)
    found = results.error_in(raised.value)
    assert isinstance(found, ProcessingError)
    assert found.where.node == "shout"
    assert "no b here" in found.message
