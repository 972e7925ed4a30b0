"""Runs a workload's SQL in Flink; imports nothing of the suite."""

from __future__ import annotations

import os
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

GIVEN = os.environ
SOURCE = """
CREATE TABLE input (
    `key` STRING,
    `value` STRING,
    `time` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
    now AS PROCTIME(),
    WATERMARK FOR `time` AS `time`
) WITH (
    'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{bootstrap}',
    'properties.group.id' = '{topic}-flink', 'scan.startup.mode' = 'earliest-offset',
    'key.format' = 'raw', 'key.fields' = 'key', 'value.format' = 'raw',
    'value.fields-include' = 'EXCEPT_KEY'
)
"""
SINK = """
CREATE TABLE output (`key` STRING, {columns}{primary}) WITH (
    'connector' = '{connector}', 'topic' = '{topic}',
    'properties.bootstrap.servers' = '{bootstrap}',
    {fields} 'key.format' = 'raw', 'value.format' = 'json',
    'value.fields-include' = 'EXCEPT_KEY'
)
"""


def main() -> None:
    settings = EnvironmentSettings.in_streaming_mode()
    tables = TableEnvironment.create(settings)
    options = {
        "pipeline.jars": GIVEN["BENCH_JAR"],
        "parallelism.default": "2",
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.dir": (Path(GIVEN["BENCH_HOME"]) / "checkpoints").as_uri(),
        "table.local-time-zone": "UTC",
    }
    for name, value in options.items():
        tables.get_config().set(name, value)
    bootstrap = GIVEN["BENCH_BOOTSTRAP"]
    text = Path(__file__).with_name(f"{GIVEN['BENCH_WORKLOAD'].lower()}.sql").read_text()
    columns, _, query = text.partition(";")
    upsert = "upsert" in columns
    tables.execute_sql(SOURCE.format(topic=GIVEN["BENCH_INPUT"], bootstrap=bootstrap))
    tables.execute_sql(
        SINK.format(
            topic=GIVEN["BENCH_OUTPUT"],
            bootstrap=bootstrap,
            columns=columns.replace("-- upsert", "").strip(),
            primary=", PRIMARY KEY (`key`) NOT ENFORCED" if upsert else "",
            connector="upsert-kafka" if upsert else "kafka",
            fields="" if upsert else "'key.fields' = 'key',",
        )
    )
    tables.execute_sql(f"INSERT INTO output {query}").wait()


if __name__ == "__main__":
    main()
