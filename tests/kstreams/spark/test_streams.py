"""The twelve applications as streams on Spark with RocksDB give the results of the test driver."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from kstreams import Record, Topic
from kstreams_rocksdb import RocksDB
from tests.kstreams.streams import app_types, fluent_apps
from tests.kstreams.streams.test_apps import APPS, run
from tests.support.spark.bench import Bench

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", APPS)
def test_streams_on_spark_write_results_of_driver(name: str, bench: Bench, tmp_path: Path) -> None:
    app, make = APPS[name], getattr(fluent_apps, name)
    topics = [each for each in vars(app_types).values() if isinstance(each, Topic)]
    bench.create(*topics, partitions=3)
    for topic, key, value, timestamp in app.records:
        bench.emit(topic, [Record(key, value, timestamp)])
    running = bench.app(make(), state=RocksDB(str(tmp_path / "state")))
    running.run(until="end", close_windows=True, timeout=timedelta(seconds=90))
    found = {str(k): str(v) for topic in app.outputs for k, v in bench.records(topic)}
    _, expected = run(make, app, len(app.records))
    assert found == expected
