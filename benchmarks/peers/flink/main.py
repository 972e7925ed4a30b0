"""Runs a workload's SQL in Flink; imports nothing of the suite.

A file of SQL has three parts, with a semicolon between: what columns a record's value gives, JSON
unless it is raw bytes; what columns a result's value has; the query. Where there are several input
topics, each has a part, before whose columns a colon and the table's name stand: `name upsert:` has
the last row of each key, `name late 1:` is a second out of order. Parts that create a view stand
before the query.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

GIVEN = os.environ
SOURCE = """
CREATE TABLE {name} (
    `key` STRING,
    {columns},
    `time` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
    {primary} WATERMARK FOR `time` AS `time`{late}
) WITH (
    'connector' = '{connector}', 'topic' = '{topic}',
    'properties.bootstrap.servers' = '{bootstrap}',
    'properties.group.id' = '{topic}-flink', {start}
    'key.format' = 'raw', 'value.format' = '{format}', 'value.fields-include' = 'EXCEPT_KEY'
)
"""
EARLIEST = "'scan.startup.mode' = 'earliest-offset', 'key.fields' = 'key',"
NAMED = re.compile(
    r"(?P<name>\w+)(?P<upsert> upsert)?( late (?P<late>\d+))?:(?P<columns>.*)", re.DOTALL
)
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
    topics = GIVEN["BENCH_INPUTS"].split(",")
    parts = [part.strip() for part in text.split(";")]
    values, (results, *views, query) = parts[: len(topics)], parts[len(topics) :]
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
    for topic, part in zip(topics, values, strict=True):
        tables.execute_sql(_source(topic, part, bootstrap))
    tables.execute_sql(
        SINK.format(
            topic=GIVEN["BENCH_OUTPUT"],
            bootstrap=bootstrap,
            columns=results,
            connector="upsert-kafka" if upsert else "kafka",
            fields="" if upsert else "'key.fields' = 'key',",
        )
    )
    for view in views:
        tables.execute_sql(view)
    tables.execute_sql(f"INSERT INTO output {query}").wait()


def _source(topic: str, part: str, bootstrap: str) -> str:
    named = NAMED.fullmatch(part)
    columns = named["columns"].strip() if named else part
    upsert = bool(named and named["upsert"])
    return SOURCE.format(
        name=named["name"] if named else "input",
        columns=columns,
        late=f" - INTERVAL '{named['late']}' SECOND" if named and named["late"] else "",
        topic=topic,
        bootstrap=bootstrap,
        connector="upsert-kafka" if upsert else "kafka",
        start="" if upsert else EARLIEST,
        primary="PRIMARY KEY (`key`) NOT ENFORCED," if upsert else "",
        format="raw" if columns == RAW else "json",
    )


if __name__ == "__main__":
    main()
