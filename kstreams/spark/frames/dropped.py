"""Counts of dropped records, as additional rows of the results of a query on DataFrames."""

from __future__ import annotations

import json

import pyarrow as pa
from pyspark.sql import DataFrame, functions

from kstreams.batch.messages.task_status import TaskStatus
from kstreams.raw_batch import OUTPUT_SCHEMA

__all__ = ("OF_DROPPED", "dropped_counts", "dropped_table", "dropped_topic", "observed")

_SINK = "dropped:"
"""The prefix of the sink name of rows with drop counts; the name of the group follows."""
OF_DROPPED = f"startswith(sink, '{_SINK}')"
"""The SQL condition of rows with drop counts, by sink: other records may have their topic."""
_FIELDS = "task string, node string, reason string, count bigint, batch bigint"


def dropped_topic(app_id: str) -> str:
    """Return the topic of rows with drop counts, for sinks that need a topic."""
    return f"{app_id}-dropped"


def dropped_table(
    app_id: str, status: TaskStatus, *, batch: int, wall_ms: int
) -> tuple[str, pa.Table]:
    """Return the drop counts of a task in a batch, as a sink's name and its output.

    Args:
        app_id: The app id.
        status: The status of the task.
        batch: The number of the batch.
        wall_ms: The wall time of the batch and its rows, ms since the epoch.
    """
    task = str(status.task)
    found = [
        {"task": task, "node": node, "reason": reason, "count": count, "batch": batch}
        for node, counts in sorted(status.counts.items())
        for reason, count in sorted(counts.dropped.items())
    ]
    values = [json.dumps(each).encode() for each in found]
    rows = len(values)
    columns = (
        [dropped_topic(app_id)] * rows,
        [task.encode()] * rows,
        values,
        [wall_ms] * rows,
        [None] * rows,
    )
    arrays = [pa.array(column, f.type) for column, f in zip(columns, OUTPUT_SCHEMA, strict=True)]
    return f"{_SINK}{status.task.group}", pa.Table.from_arrays(arrays, schema=OUTPUT_SCHEMA)


def observed(rows: DataFrame, name: str) -> DataFrame:
    """Return the rows without the rows of drop counts, whose sum becomes a metric of the query.

    Args:
        rows: The output of all tasks.
        name: The name of the metric (see `DataFrame.observe`), which has the field `records`.
            Bounded DataFrames have no metric.
    """
    if not rows.isStreaming:
        return rows.where(f"NOT {OF_DROPPED}")
    count = "CAST(get_json_object(CAST(value AS STRING), '$.count') AS BIGINT)"
    total = functions.expr(f"coalesce(sum(CASE WHEN {OF_DROPPED} THEN {count} END), 0L)")
    counted = rows.observe(name, total.alias("records"))
    return counted.where(f"NOT {OF_DROPPED}")


def dropped_counts(rows: DataFrame) -> DataFrame:
    """Return counts of dropped records with a column for each field.

    Args:
        rows: Rows of the topic `ResultFrames.dropped_topic`, with the columns `value` and
            `timestamp`: from `ResultFrames`, from the argument of a `write_each` function, or read
            from a sink that has stored them.

    Returns:
        Columns `task`, `node`, `reason`, `count`, `batch` and `timestamp`; see
        `ResultFrames.dropped`.
    """
    fields = f"from_json(CAST(value AS string), '{_FIELDS}') AS counted"
    return rows.selectExpr(fields, "timestamp").select("counted.*", "timestamp")
