"""Runs a workload's SQL in Flink; imports nothing of the suite.

A file of SQL has three parts, with a semicolon between: what columns a record's value gives, JSON
unless it is raw bytes; what columns a result's value has; the query.
"""

from __future__ import annotations

import os
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

GIVEN = os.environ
SOURCE = """
CREATE TABLE input (
    `key` STRING,
    {columns},
    `time` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
    WATERMARK FOR `time` AS `time`
) WITH (
    'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{bootstrap}',
    'properties.group.id' = '{topic}-flink', 'scan.startup.mode' = 'earliest-offset',
    'key.format' = 'raw', 'key.fields' = 'key', 'value.format' = '{format}',
    'value.fields-include' = 'EXCEPT_KEY'
)
"""
SINK = """
CREATE TABLE output (`key` STRING, {columns}) WITH (
    'connector' = '{connector}', 'topic' = '{topic}',
    'properties.bootstrap.servers' = '{bootstrap}',
    {fields} 'key.format' = 'raw', 'value.format' = 'json',
    'value.fields-include' = 'EXCEPT_KEY'
)
"""
RAW = "`value` BYTES"
# What Flink's page on performance says to set for aggregates that have no window, but for the
# latency: as long as a checkpoint lasts here.
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "5000",
}


def main() -> None:
    settings = EnvironmentSettings.in_streaming_mode()
    tables = TableEnvironment.create(settings)
    text = Path(__file__).with_name(f"{GIVEN['BENCH_WORKLOAD'].lower()}.sql").read_text()
    values, results, query = (part.strip() for part in text.split(";"))
    upsert = "PRIMARY KEY" in results
    options = {
        "pipeline.jars": GIVEN["BENCH_JAR"],
        "parallelism.default": "2",
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.dir": (Path(GIVEN["BENCH_HOME"]) / "checkpoints").as_uri(),
        "table.local-time-zone": "UTC",
        **(MINI_BATCH if upsert else {}),
    }
    for name, value in options.items():
        tables.get_config().set(name, value)
    bootstrap = GIVEN["BENCH_BOOTSTRAP"]
    tables.execute_sql(
        SOURCE.format(
            columns=values,
            topic=GIVEN["BENCH_INPUT"],
            bootstrap=bootstrap,
            format="raw" if values == RAW else "json",
        )
    )
    tables.execute_sql(
        SINK.format(
            topic=GIVEN["BENCH_OUTPUT"],
            bootstrap=bootstrap,
            columns=results,
            connector="upsert-kafka" if upsert else "kafka",
            fields="" if upsert else "'key.fields' = 'key',",
        )
    )
    tables.execute_sql(f"INSERT INTO output {query}").wait()


if __name__ == "__main__":
    main()
