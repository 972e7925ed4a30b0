"""Batches run beside Spark's own work between them, a few ahead of it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from kstreams.spark.batch_turns import BatchTurns

pytestmark = pytest.mark.spark

_SOON_S = 10.0
_AHEAD = 8


class Batches:
    """Batches that run; which of them have, and what stops them.

    Attributes:
        ran: Their numbers.
        last: The number of the one that is the last, as the query is to stop.
        fails: Raised by the last one.
    """

    def __init__(self) -> None:
        self.ran: list[int] = []
        self.last: int | None = None
        self.fails: Exception | None = None
        self._changed = threading.Condition()

    def __call__(self, _: SparkContext, number: int) -> bool:
        if number == self.last:
            if self.fails is not None:
                raise self.fails
            return False
        with self._changed:
            self.ran.append(number)
            self._changed.notify_all()
        return True

    def wait(self, met: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(met, _SOON_S)


def test_a_few_batches_run_before_spark_begins_them_and_none_after_that(
    spark: SparkSession,
) -> None:
    batches = Batches()
    turns = BatchTurns(batches, "turns")
    for begun in (5, 6, 7):
        assert turns.done(begun, spark.sparkContext)
        ahead = [*range(5, begun + _AHEAD + 1)]
        batches.wait(lambda ahead=ahead: batches.ran == ahead)  # type: ignore[misc]  # bound now
    turns.end()
    assert batches.ran == [*range(5, 8 + _AHEAD)]


def test_spark_is_told_that_a_batch_will_not_be(spark: SparkSession) -> None:
    batches = Batches()
    batches.last = 1
    turns = BatchTurns(batches, "turns")
    assert turns.done(0, spark.sparkContext)
    assert not turns.done(1, spark.sparkContext)
    turns.end()


def test_a_failure_reaches_spark_in_its_own_batch_and_none_follows(spark: SparkSession) -> None:
    batches = Batches()
    batches.last, batches.fails = 1, ValueError("no more")
    turns = BatchTurns(batches, "turns")
    assert turns.done(0, spark.sparkContext)
    for _ in range(2):
        with pytest.raises(ValueError, match="no more"):
            turns.done(1, spark.sparkContext)
    assert batches.ran == [0]


def test_jobs_are_of_the_querys_group_and_of_no_batch_of_spark(spark: SparkSession) -> None:
    context = spark.sparkContext
    found: list[str | None] = []

    def run(given: SparkContext, number: int) -> bool:
        names = ("spark.jobGroup.id", "spark.sql.execution.id", "streaming.sql.batchId")
        found.extend(given.getLocalProperty(name) for name in names)
        return number < 0

    def begin() -> None:
        context.setJobGroup("the-query", "")
        context.setLocalProperty("spark.sql.execution.id", "7")
        context.setLocalProperty("streaming.sql.batchId", "7")
        assert not BatchTurns(run, "turns").done(0, context)

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    assert found == ["the-query", None, None]


def test_no_batch_begins_after_the_end(spark: SparkSession) -> None:
    batches = Batches()
    turns = BatchTurns(batches, "turns")
    ran = [*range(_AHEAD + 1)]
    assert turns.done(0, spark.sparkContext)
    batches.wait(lambda: batches.ran == ran)
    turns.end()
    assert all(turns.done(begun, spark.sparkContext) for begun in ran)
    assert not turns.done(_AHEAD + 1, spark.sparkContext)
    assert batches.ran == ran
