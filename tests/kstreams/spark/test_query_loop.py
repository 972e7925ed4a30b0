"""Batches that run in a loop, within few micro-batches of Spark."""

from __future__ import annotations

import threading
import time

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from kstreams.spark.query_loop import BatchTurns

pytestmark = pytest.mark.spark


class Batches:
    """Batches that run on request, with a count and a final failure.

    Attributes:
        ran: Number of batches that have run.
        most: Number of batches after which the query stops.
        fails: Exception raised after the last batch.
    """

    def __init__(self, most: int) -> None:
        self.ran = 0
        self.most = most
        self.fails: Exception | None = None

    def __call__(self, _: SparkContext) -> bool:
        if self.ran == self.most:
            if self.fails is not None:
                raise self.fails
            return False
        self.ran += 1
        return True


class Slow(Batches):
    """Batches that take some time."""

    def __call__(self, spark: SparkContext) -> bool:
        time.sleep(0.02)
        return super().__call__(spark)


def test_one_spark_micro_batch_runs_many_batches(spark: SparkSession) -> None:
    batches = Slow(1_000)
    turns = BatchTurns(batches, "turns")
    found = []
    for _ in range(3):
        assert turns.stand(spark.sparkContext)
        found.append(batches.ran)
    turns.end(60)
    assert found[0] > 1
    assert found == sorted(set(found))


def test_spark_micro_batch_returns_after_at_least_one_batch(spark: SparkSession) -> None:
    let = threading.Event()
    batches = Batches(1)
    over = threading.Event()

    def run(context: SparkContext) -> bool:
        let.wait()
        return batches(context) or over.wait()

    turns = BatchTurns(run, "turns")
    threading.Timer(1, let.set).start()
    assert turns.stand(spark.sparkContext)
    assert batches.ran == 1
    threading.Timer(0.1, over.set).start()
    turns.end(60)


def test_failure_of_batch_after_stop_is_logged(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    let = threading.Event()

    def run(_: SparkContext) -> bool:
        let.wait()
        raise RuntimeError("the callback failed")

    turns = BatchTurns(run, "turns")
    threading.Timer(0.2, turns.begin_no_more).start()
    assert not turns.stand(spark.sparkContext)
    let.set()
    turns.end(60)
    assert "the callback failed" in caplog.text


def test_spark_micro_batch_reports_when_no_batches_are_left(spark: SparkSession) -> None:
    batches = Batches(1)
    turns = BatchTurns(batches, "turns")
    assert not turns.stand(spark.sparkContext), "at once: it need not note that one"
    assert batches.ran == 1
    turns.end(60)


def test_failure_of_batch_is_raised_in_spark_micro_batch_and_no_batch_follows(
    spark: SparkSession,
) -> None:
    batches = Batches(1)
    batches.fails = ValueError("no more")
    turns = BatchTurns(batches, "turns")
    for _ in range(2):
        with pytest.raises(ValueError, match="no more"):
            turns.stand(spark.sparkContext)
    assert batches.ran == 1


def test_jobs_belong_to_job_group_of_query_and_to_no_spark_micro_batch(spark: SparkSession) -> None:
    context = spark.sparkContext
    found: list[str | None] = []

    def run(given: SparkContext) -> bool:
        names = ("spark.jobGroup.id", "spark.sql.execution.id", "streaming.sql.batchId")
        found.extend(given.getLocalProperty(name) for name in names)
        return False

    def begin() -> None:
        context.setJobGroup("the-query", "")
        context.setLocalProperty("spark.sql.execution.id", "7")
        context.setLocalProperty("streaming.sql.batchId", "7")
        assert not BatchTurns(run, "turns").stand(context)

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    assert found == ["the-query", None, None]


def test_no_batch_begins_after_end_of_query(spark: SparkSession) -> None:
    batches = Slow(1_000)
    turns = BatchTurns(batches, "turns")
    assert turns.stand(spark.sparkContext)
    turns.end(60)
    ran = batches.ran
    assert not turns.stand(spark.sparkContext)
    assert batches.ran == ran
