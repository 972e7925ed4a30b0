"""Apps and other jobs of one Spark session share its cores, and apps share its workers."""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from tests.support.spark.bench import TOTALS, WORDS, Bench, counting, expected_totals

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
