"""DataFrames that continue from the savepoint of an app."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from devtools.servers.s3 import Bucket
from kstreams import Record, Topic
from kstreams.app import ForkSource
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.clock import SystemClock
from kstreams.errors import CheckpointMismatchError, CompileError, KStreamsError, SavepointError
from kstreams.frames import SourceFrame, starting_offsets, transform_frames
from kstreams.ids import TaskId
from kstreams.spark.frames.inherited import Inherited
from kstreams.state import StateBackend
from kstreams.state.backend.task_key import TaskKey
from kstreams.testing import TopologyTestDriver
from kstreams_rocksdb import RocksDB
from kstreams_testing.resident_objects import ResidentObjects
from tests.support.spark.bench import Bench
from tests.support.spark.file_streams import Row, Streams, rows_of
from tests.support.topologies.frame_topologies import (
    CLOSED,
    KINDS,
    WORDS,
    joined_count,
    windowed_count,
)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

Records = dict[Topic[Any, Any], list[Record[Any, Any]]]
BEFORE: Records = {
    KINDS: [Record("a", "vowel", 0), Record("b", "other", 0)],
    WORDS: [Record(word, word, 1 + n) for n, word in enumerate("abcabe")],
}
AFTER: Records = {
    KINDS: [Record("e", "vowel", 11)],
    WORDS: [Record(word, word, 8 + n) for n, word in enumerate("aebcae")]
    + [Record("b", "b", 40), Record("a", "a", 41), Record("e", "e", 60), Record("c", "c", 61)],
}


@pytest.fixture
def bench(tmp_path: Path, spark: SparkSession) -> Iterator[Bench]:
    made = Bench(tmp_path / "app", spark)
    yield made
    made.close()


def on_app(bench: Bench, **options: Any) -> list[Row]:
    """Run the app on the first records, and create a savepoint; return its results."""
    bench.create(KINDS, WORDS, CLOSED)
    for topic, records in BEFORE.items():
        bench.emit(topic, records)
    bench.run(joined_count(), **options)
    checkpoint = Checkpoint.load(home_of(bench.checkpoint))
    log = options["state"].log if "state" in options else checkpoint.log
    Savepoints(checkpoint, log.open()).create("before", SystemClock())
    return [
        (
            CLOSED.key.deserialize(r.key or b""),
            CLOSED.value.deserialize(r.value or b""),
            r.timestamp,
        )
        for r in bench.raw(CLOSED)
    ]


def on_frames(
    streams: Streams, fork: str | ForkSource, state: StateBackend
) -> KStreamsError | None:
    results = transform_frames(
        joined_count(),
        {topic: streams.stream(topic) for topic in AFTER},
        state=state,
        tasks=2,
        fork=fork,
        packages=(),
    )
    try:
        streams.run(results.all)
    except PySparkException as exc:
        found = results.error_in(exc)
        if found is None:
            raise
        return found
    return None


def expected() -> list[Row]:
    with TopologyTestDriver(joined_count(), partitions=2) as driver:
        for records in (BEFORE, AFTER):
            for topic, own in records.items():
                for each in own:
                    driver.write(topic, each.key, each.value, timestamp=each.timestamp)
            driver.run()
        return sorted(((r.key, r.value, r.timestamp) for r in driver.read(CLOSED)), key=repr)


@pytest.mark.parametrize("on_s3", [False, True], ids=["directory", "rocksdb-s3"])
def test_frames_continue_windows_joins_and_stores_of_app(
    bench: Bench, stream_session: SparkSession, request: pytest.FixtureRequest, *, on_s3: bool
) -> None:
    streams = Streams(bench.home / "frames", stream_session)
    options: dict[str, Any] = {}
    state: StateBackend = streams.state
    fork: str | ForkSource = f"{bench.checkpoint}@before"
    if on_s3:
        bucket: Bucket = request.getfixturevalue("bucket")
        log = bucket.settings(f"fork-{uuid.uuid4().hex[:8]}")
        state = RocksDB(directory=str(bench.home / "local"), log=log)
        options, fork = {"state": state}, ForkSource(bench.checkpoint, "before", log)
    before = on_app(bench, **options)
    for topic, records in AFTER.items():
        streams.write(topic, records)
    assert on_frames(streams, fork, state) is None
    found = sorted([*before, *rows_of(streams.read(), CLOSED)], key=repr)
    assert found == expected()
    places = json.loads(starting_offsets(fork))
    assert {topic: sum(places[topic].values()) for topic in places} == {"kinds": 2, "words": 6}


@pytest.mark.long
def test_savepoint_that_does_not_fit_is_rejected(
    bench: Bench, stream_session: SparkSession
) -> None:
    streams = Streams(bench.home / "frames", stream_session)
    on_app(bench)
    for topic, records in AFTER.items():
        streams.write(topic, records)
    missing = on_frames(streams, f"{bench.checkpoint}@after", streams.state)
    assert isinstance(missing, SavepointError)
    assert "there are: 'before'" in missing.message
    fork = f"{bench.checkpoint}@before"
    begun = on_frames(streams, fork, streams.state)
    assert begun is None
    streams.write(WORDS, [Record("z", "z", 99)])
    other = on_frames(streams, f"{bench.checkpoint}@after", streams.state)
    assert isinstance(other, CheckpointMismatchError)
    assert f"had fork='{fork}'" in other.message


def test_savepoint_of_another_topology_or_task_count_is_rejected(bench: Bench) -> None:
    on_app(bench)
    source = ForkSource(bench.checkpoint, "before")
    task, shape = TaskId("kinds", 0), joined_count().shape()
    key, log = TaskKey("app", *task), ResidentObjects()
    tasks = Checkpoint.load(home_of(bench.checkpoint)).tasks
    with pytest.raises(CheckpointMismatchError, match="belongs to another topology"):
        Inherited(source, windowed_count().shape(), tasks).begin(task, key, log)
    with pytest.raises(CheckpointMismatchError, match="has tasks by group"):
        Inherited(source, shape, dict.fromkeys(tasks, 3)).begin(task, key, log)
    assert Inherited(source, shape, tasks).begin(TaskId("kinds", 9), key, log) is None


def test_fork_of_bounded_frames_is_rejected(tmp_path: Path, stream_session: SparkSession) -> None:
    streams = Streams(tmp_path, stream_session)
    for topic, records in AFTER.items():
        streams.write(topic, records)
    frames: dict[Topic[Any, Any] | str, DataFrame | SourceFrame] = {
        topic: streams.bounded(topic) for topic in AFTER
    }
    with pytest.raises(CompileError, match="bounded DataFrames begin with no state"):
        transform_frames(joined_count(), frames, fork="app@before", packages=())
    with pytest.raises(SavepointError, match="does not name a savepoint"):
        transform_frames(joined_count(), frames, fork="before", packages=())
