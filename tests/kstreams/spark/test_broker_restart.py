"""An app keeps running while its broker restarts, and loses nothing."""

from __future__ import annotations

import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.servers.kafka import KafkaBroker
from kstreams import App, Kafka
from kstreams.app import BatchReport
from kstreams.batch.report import AppState
from kstreams.connection import RawRecord
from tests.support.kafka.sample_records import read_all
from tests.support.spark.bench import TOTALS, WORDS, counting

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(300)]

KEYS = 7
WITHIN_S = 120


def _emit(kafka: Kafka, count: int) -> None:
    writer = kafka.writer()
    for n in range(count):
        key = f"k{n % KEYS}".encode()
        writer.enqueue(WORDS.name, n % KEYS % 2, key, b"x", 1_000 + n, ())
    writer.close()


def _totals(records: list[RawRecord]) -> Counter[bytes]:
    """Return the highest count of each key; results may repeat after a failure."""
    found: Counter[bytes] = Counter()
    for record in records:
        assert record.key is not None
        assert record.value is not None
        found[record.key] = max(found[record.key], TOTALS.value.deserialize(record.value))
    return found


def test_app_continues_when_broker_is_back(spark: SparkSession, tmp_path: Path) -> None:
    counted: Counter[str] = Counter()

    def count(report: BatchReport) -> None:
        counted["records"] += report.source_records

    def await_count(wanted: int) -> None:
        end = time.monotonic() + WITHIN_S
        while counted["records"] < wanted:
            assert app.failure is None, app.failure
            assert time.monotonic() < end, f"{counted['records']} of {wanted}"
            time.sleep(0.1)

    with KafkaBroker(tmp_path / "broker") as broker:
        kafka = Kafka(broker.bootstrap)
        for topic in (WORDS.name, TOTALS.name):
            broker.create_topic(topic, 2, {"retention.ms": "-1"})
        app = App(
            counting(),
            kafka,
            checkpoint=tmp_path / "checkpoint",
            spark=spark,
            trigger=timedelta(0),
            on_batch=count,
        )
        with app:
            app.start()
            _emit(kafka, 700)
            await_count(700)
            broker.kill()
            broker.restart()
            _emit(kafka, 700)
            await_count(1_400)
            assert app.state is AppState.RUNNING
        totals = _totals(read_all(kafka, TOTALS.name))
    assert totals == {f"k{n}".encode(): 200 for n in range(KEYS)}
