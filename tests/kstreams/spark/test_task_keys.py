"""Every task gets a Spark partition of its own, by Spark's own hash."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's own custom

from kstreams.spark.task_keys import spark_partition, task_keys


@given(tasks=st.integers(1, 40), partitions=st.integers(1, 40))
def test_tasks_go_round_the_partitions(tasks: int, partitions: int) -> None:
    keys = task_keys(tasks, partitions)
    assert len(set(keys)) == tasks
    assert [spark_partition(k, partitions) for k in keys] == [t % partitions for t in range(tasks)]


@given(tasks=st.integers(1, 20), more=st.integers(0, 20), partitions=st.integers(1, 10))
def test_more_tasks_leave_the_others_their_keys(tasks: int, more: int, partitions: int) -> None:
    assert task_keys(tasks + more, partitions)[:tasks] == task_keys(tasks, partitions)


@pytest.mark.spark
def test_the_hash_is_sparks_own(spark: SparkSession) -> None:
    numbers = [*range(-50, 200), 2**31 - 1, -(2**31), 123_456_789]
    frame = spark.createDataFrame([(n,) for n in numbers], "n int")
    hashed = frame.select("n", *(F.pmod(F.hash("n"), F.lit(p)) for p in (1, 2, 3, 4, 7, 200)))
    for number, *found in hashed.collect():
        assert found == [spark_partition(number, p) for p in (1, 2, 3, 4, 7, 200)]
