"""Apps and other jobs of one Spark session share its cores, and apps share its workers."""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from kstreams import TEXT, Topic, TopologyBuilder
from kstreams.workers import pool
from tests.kstreams.spark.failing_processors import Sleeping
from tests.support.spark.bench import (
    COUNTS,
    TOTALS,
    WORDS,
    Bench,
    Count,
    counting,
    expected_totals,
)

pytestmark = pytest.mark.spark

RECORDS = [(f"key-{number % 5}", "value") for number in range(40)]


@pytest.mark.engines("spark")
def test_other_job_gets_cores_while_an_app_is_open(bench: Bench, spark: SparkSession) -> None:
    bench.create(WORDS)
    app = bench.app(counting())
    app.open()
    found: list[int] = []

    def count() -> None:
        found.append(spark.sparkContext.parallelize(range(10), 2).count())

    bench.emit(WORDS, RECORDS)
    app.drain(timeout=timedelta(seconds=60))
    other = threading.Thread(target=count)
    other.start()
    sent = list(RECORDS)
    end = time.monotonic() + 60
    while other.is_alive() and time.monotonic() < end:
        bench.emit(WORDS, RECORDS[:5])
        sent += RECORDS[:5]
        app.drain(timeout=timedelta(seconds=60))
    assert found == [10]
    other.join()
    app.drain(timeout=timedelta(seconds=60))
    assert Counter(bench.records(TOTALS)) == expected_totals(sent)


@pytest.mark.engines("spark")
def test_app_runs_with_one_free_core(bench: Bench, spark: SparkSession) -> None:
    started, ended = threading.Event(), threading.Event()

    def hold() -> None:
        started.set()
        spark.sparkContext.parallelize([30], 1).foreach(time.sleep)
        ended.set()

    holder = threading.Thread(target=hold)
    holder.start()
    started.wait()
    time.sleep(1)
    bench.create(WORDS)
    bench.emit(WORDS, RECORDS)
    bench.run(counting())
    assert Counter(bench.records(TOTALS)) == expected_totals(RECORDS)
    assert not ended.is_set()
    holder.join()


def test_three_apps_run_at_the_same_time(bench: Bench) -> None:
    topologies = [counting() for _ in range(3)]
    bench.create(WORDS, TOTALS)
    bench.emit(WORDS, RECORDS)
    apps = [
        bench.app(topology, checkpoint=bench.home / str(number), app_id=f"app-{number}")
        for number, topology in enumerate(topologies)
    ]
    for app in apps:
        app.start()
    end = time.monotonic() + 60
    while len(bench.records(TOTALS)) < 3 * len(RECORDS) and time.monotonic() < end:
        time.sleep(0.05)
    for app in apps:
        app.close()
    expected = expected_totals(RECORDS)
    assert Counter(bench.records(TOTALS)) == Counter({key: 3 * n for key, n in expected.items()})


FILES = Topic("files", TEXT, TEXT)


@pytest.mark.engines("spark", "embedded")
def test_query_continues_on_other_worker_while_code_of_another_query_blocks_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_BLOCKED_S", 1.0)
    builder = TopologyBuilder("one-blocks")
    builder.add_processor("sleep", Sleeping, builder.add_source("files", FILES))
    words = builder.add_source("words", WORDS)
    builder.add_sink(
        "totals", TOTALS, builder.add_processor("count", Count, words, stores=[COUNTS])
    )
    topology = builder.build()
    assert len(topology.pipelines()) == 2
    bench.create(FILES, WORDS, TOTALS)
    app = bench.app(topology)
    app.start()
    began = bench.home / "began"
    bench.emit(FILES, [("a", str(began))])
    end = time.monotonic() + 50
    while not began.exists() and time.monotonic() < end:
        time.sleep(0.05)
    for number in (1, 2, 3):
        bench.emit(WORDS, RECORDS)
        while len(bench.records(TOTALS)) < number * len(RECORDS) and time.monotonic() < end:
            time.sleep(0.05)
    assert time.monotonic() < end
    assert Counter(bench.records(TOTALS)) == expected_totals(3 * RECORDS)
    app.close(timedelta(seconds=0.5))
