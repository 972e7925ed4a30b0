"""An app continues from a checkpoint of an older release, with every kind of store in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kstreams import Record
from kstreams.checkpoint.checkpoint import Checkpoint, query_name
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.pointer import Pointer
from tests.kstreams.spark.every_store_kind import NUMBERS, OUTPUTS, RECORDS, every_kind
from tests.support.spark.bench import Bench

pytestmark = pytest.mark.spark

OLDER = Path(__file__).parent / "data" / "every_kind"
"""Files written by an app of the older release: three batches of ten records, and its topics."""

Rows = dict[str, list[tuple[bytes, bytes]]]


def emit(bench: Bench, start: int) -> None:
    bench.emit(NUMBERS, (Record(*each) for each in RECORDS[start : start + 30]))


def run(bench: Bench) -> None:
    bench.run(every_kind(), max_records_per_batch=10, parallelism=1)


def outputs(bench: Bench) -> dict[str, list[tuple[bytes | None, bytes | None, int]]]:
    return {
        name: [(row.key, row.value, row.timestamp) for row in bench.raw(topic)]
        for name, topic in OUTPUTS.items()
    }


def state(bench: Bench) -> Rows:
    """Return the rows of each store of the only task, as of the last commit."""
    topology = every_kind()
    name = query_name(topology.pipelines()[0])
    ((task, text),) = bench.last_commit(topology).tasks.items()
    pointer = Pointer.from_json(text)
    store = MemoryStore(pointer.stores)
    key = TaskKey(Checkpoint.load(home_of(bench.checkpoint)).state_name(name), *task)
    DurableLog(home_of(bench.checkpoint).log.open(), key).restore(pointer, store)
    return {each: list(store.scan(each, b"", None)) for each in sorted(pointer.stores)}


def test_app_resumed_from_checkpoint_of_older_version_gives_results_of_a_new_app(
    tmp_path: Path, spark: SparkSession
) -> None:
    shutil.copytree(OLDER, tmp_path / "older")
    for topic in (NUMBERS, *OUTPUTS.values()):  # git does not keep empty directories
        for part in ("0", ".staged/0"):
            (tmp_path / "older" / "topics" / topic.name / part).mkdir(parents=True, exist_ok=True)
    older, fresh = Bench(tmp_path / "older", spark), Bench(tmp_path / "fresh", spark)
    try:
        fresh.create(NUMBERS, *OUTPUTS.values(), partitions=1)
        emit(fresh, 0)
        run(fresh)
        assert state(older) == state(fresh)
        assert outputs(older) == outputs(fresh)
        for bench in (older, fresh):
            emit(bench, 30)
            run(bench)
        assert all(outputs(older).values())
        assert outputs(older) == outputs(fresh)
        assert state(older) == state(fresh)
    finally:
        older.close()
        fresh.close()
