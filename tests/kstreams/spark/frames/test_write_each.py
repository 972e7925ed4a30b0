"""Several sinks of one query: each task runs once a batch."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from kstreams import Record
from kstreams.frames import transform_frames, write_each
from tests.kstreams.spark.frames.streams import Row, Streams, rows_of
from tests.kstreams.spark.frames.topologies import COUNTS, LINES, WORDS, word_count

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def test_two_sinks_of_one_query_are_computed_once(
    tmp_path: Path, stream_session: SparkSession
) -> None:
    streams, seen = Streams(tmp_path, stream_session), tmp_path / "seen"
    streams.write(LINES, [Record(b"1", "a b", 1), Record(b"2", "a", 2)])
    results = transform_frames(
        word_count(log=seen),
        {LINES: streams.stream(LINES)},
        state=streams.state,
        tasks=2,
        packages=(),
    )
    found: dict[str, list[Row]] = {}

    def words(frame: DataFrame, batch: int) -> None:
        found["words"] = rows_of(frame, WORDS)

    def counts(frame: DataFrame, batch: int) -> None:
        found["counts"] = rows_of(frame, COUNTS)

    query = (
        write_each(results, {WORDS: words, COUNTS: counts})
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(240)
    assert found == {
        "words": [("a", "a", 1), ("a", "a", 2), ("b", "b", 1)],
        "counts": [("a", 1, 1), ("a", 2, 2), ("b", 1, 1)],
    }
    assert sorted(seen.read_text().split()) == ["1", "2"]
