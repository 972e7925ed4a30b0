"""Mapping of tasks to Spark partitions, and compatibility of checkpoints."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from kstreams.errors import CheckpointMismatchError, StateCorruptError
from kstreams.spark.frames.layout import Layout
from kstreams.spark.frames.task_keys import key_of, task_of
from kstreams.spark.frames.task_record import TaskRecord

LAYOUT = Layout("app", "2:abc", ("lines", "by-word"), (4, 8))


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (replace(LAYOUT, app="other"), "app_id='app', not 'other'"),
        (replace(LAYOUT, counts=(4, 4)), "other task counts by group"),
        (replace(LAYOUT, fingerprint="2:def"), "another topology"),
    ],
    ids=["app", "tasks", "topology"],
)
def test_checkpoint_of_another_query_is_rejected(other: Layout, says: str) -> None:
    with pytest.raises(CheckpointMismatchError, match=says):
        other.check(LAYOUT.to_text())


def test_group_key_made_for_a_task_is_read_as_that_task() -> None:
    assert [task_of(key_of(task)) for task in range(5_000)] == list(range(5_000))


@pytest.mark.spark
@pytest.mark.parametrize("width", [1, 2, 7])
def test_tasks_are_spread_evenly_over_any_number_of_partitions(
    spark: SparkSession, width: int
) -> None:
    keys = spark.createDataFrame([(key_of(task),) for task in range(20)], "key int")
    spread = keys.repartition(width, "key").selectExpr("key", "spark_partition_id() AS place")
    found = {task_of(row["key"]): row["place"] for row in spread.collect()}
    assert found == {task: task % width for task in range(20)}


def test_task_record_survives_conversion_to_json() -> None:
    record = TaskRecord("layout", "words", "app.start", 9, 8, "pointer", cleaned=50, due_ms=7)
    assert TaskRecord.from_json(record.to_json()) == record


@pytest.mark.parametrize("text", ["", "{}", '{"f": 2}', "[]", '{"f": 1, "layout": 3}'])
def test_invalid_task_record_raises_state_corrupt_error(text: str) -> None:
    with pytest.raises(StateCorruptError):
        TaskRecord.from_json(text)
