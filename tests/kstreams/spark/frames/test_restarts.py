"""A query that fails, stops or is changed continues from its checkpoint."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kstreams import Record, Topic, Topology
from kstreams.errors import CheckpointMismatchError, FencedError, KStreamsError, ProcessingError
from kstreams.frames import ResultFrames, transform_frames
from tests.kstreams.spark.frames.test_transform import on_driver
from tests.support.spark.file_streams import Streams, by_topic
from tests.support.topologies.frame_topologies import (
    COUNTS,
    LINES,
    WORDS,
    windowed_count,
    word_count,
)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

BATCHES = [[Record(b"%d" % n, "a b c", 10 * batch + n) for n in range(3)] for batch in range(2)]


def frames(streams: Streams, topology: Topology, *, tasks: int = 2) -> ResultFrames:
    return transform_frames(
        topology,
        {LINES: streams.stream(LINES)},
        state=streams.state,
        tasks=tasks,
        packages=(),
    )


def failure(streams: Streams, results: ResultFrames) -> KStreamsError | None:
    with pytest.raises(PySparkException) as caught:
        streams.run(results.all)
    return results.error_in(caught.value)


@pytest.mark.long
def test_query_continues_from_its_checkpoint(tmp_path: Path, stream_session: SparkSession) -> None:
    streams, fails = Streams(tmp_path, stream_session), tmp_path / "fails"
    topology = word_count(fails)
    streams.write(LINES, BATCHES[0])
    streams.run(frames(streams, topology).all)

    fails.write_text("b")  # a task of the second stage fails after the first stage has run
    streams.write(LINES, BATCHES[1])
    error = failure(streams, frames(streams, topology))
    assert isinstance(error, ProcessingError)
    assert error.where.node == "check"

    fails.unlink()
    other_tasks = failure(streams, frames(streams, topology, tasks=1))
    assert isinstance(other_tasks, CheckpointMismatchError)
    assert "other task counts by group" in other_tasks.message

    streams.run(frames(streams, topology).all)
    sinks: list[Topic[Any, Any]] = [WORDS, COUNTS]
    assert by_topic(streams.read(), sinks) == on_driver(topology, LINES, BATCHES, sinks)


def test_query_started_last_fences_query_on_copy_of_its_checkpoint(
    tmp_path: Path, stream_session: SparkSession
) -> None:
    streams = Streams(tmp_path, stream_session)

    def windows() -> ResultFrames:
        return transform_frames(
            windowed_count(),
            {WORDS: streams.stream(WORDS)},
            state=streams.state,
            tasks=2,
            operator="group-state",
            packages=(),
        )

    streams.write(WORDS, [Record("a", "a", 1)])
    first = windows()
    rows = first.all
    streams.run(rows)
    copytree(tmp_path / "results-checkpoint", tmp_path / "copy-checkpoint")
    streams.write(WORDS, [Record("a", "a", 2)])
    streams.run(windows().all, "copy")
    for name, says in [
        ("results", "a copy of its checkpoint"),
        ("another", "belongs to another query on the same DataFrame"),
    ]:
        with pytest.raises(PySparkException) as caught:
            streams.run(rows, name)
        error = first.error_in(caught.value)
        assert isinstance(error, FencedError)
        assert says in error.message
