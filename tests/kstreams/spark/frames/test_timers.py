"""Wall-clock work runs by Spark's timers, in batches without data."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kstreams import Record
from kstreams.errors import CompileError
from kstreams.frames import Operator, transform_frames
from tests.support.spark.file_streams import Streams, rows_of
from tests.support.topologies.frame_topologies import COUNTS, WORDS, ticking

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

_PATIENCE_SECONDS = 240


@pytest.mark.parametrize("operator", ["transform-with-state", "group-state"])
def test_wall_clock_punctuators_fire_without_data(
    tmp_path: Path, stream_session: SparkSession, operator: Operator
) -> None:
    streams = Streams(tmp_path, stream_session)
    streams.write(WORDS, [Record("a", "a", 1)])
    results = transform_frames(
        ticking(),
        {WORDS: streams.stream(WORDS)},
        state=streams.state,
        tasks=2,
        operator=operator,
        timers=True,
        packages=(),
    )
    query = (
        results.all.writeStream.format("parquet")
        .option("path", str(tmp_path / "results"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(processingTime="100 milliseconds")
        .start()
    )
    try:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline and query.isActive:
            if len(list((tmp_path / "results").glob("*.parquet"))) > 5:
                break
            time.sleep(0.2)
    finally:
        query.stop()
    found = rows_of(streams.read(), COUNTS)
    ticks = {key: sorted(v for k, v, _ in found if k == key) for key in ("task 0", "task 1")}
    # Each task ticks without a miss or repeat, also the task without records.
    assert all(len(own) > 1 and own == list(range(1, len(own) + 1)) for own in ticks.values())


def test_wall_clock_work_without_timers_is_rejected(
    tmp_path: Path, stream_session: SparkSession
) -> None:
    streams = Streams(tmp_path, stream_session)
    streams.write(WORDS, [Record("a", "a", 1)])
    results = transform_frames(
        ticking(), {WORDS: streams.stream(WORDS)}, state=streams.state, tasks=2, packages=()
    )
    with pytest.raises(PySparkException) as caught:
        streams.run(results.all)
    error = results.error_in(caught.value)
    assert isinstance(error, CompileError)
    assert "timers=True" in error.hint
