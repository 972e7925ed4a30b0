"""Runs a workload's SQL in Flink. Imports nothing of the suite.

A file of SQL has three parts, separated by semicolons: the columns of a record's value (JSON unless
it is raw bytes), the columns of a result's value, and the query. With several input topics, each
topic has a part whose columns follow the table's name and a colon: `name upsert:` keeps the last
row of each key, `name late 1:` is up to a second out of order. Parts that create a view precede the
query. With processing-time windows (PROCTIME), results do not show the progress of the job; the
program gets the number of records that reached the windows from Flink and prints it.
"""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

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
# The settings that Flink's performance page recommends for aggregates without a window, but the
# latency is the interval of checkpoints.
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
    if "PROCTIME()" in text:
        port = _free_port()
        options |= {"rest.bind-port": str(port), "metrics.fetcher.update-interval": "250 ms"}
        threading.Thread(target=_tell_progress, args=(port,), daemon=True).start()
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


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port


def _tell_progress(port: int) -> None:
    """Print the number of records that the operator after the source, the windows, has received."""
    told = 0
    while True:
        time.sleep(0.25)
        try:
            done = _counted(f"http://127.0.0.1:{port}/jobs")
        except (OSError, LookupError, ValueError):
            continue  # the job has not started
        if done > told:
            told = done
            print(f"progress {told}", flush=True)


def _counted(jobs: str) -> int:
    job = _asked(jobs)["jobs"][0]["id"]
    _, windows, *_ = _asked(f"{jobs}/{job}")["vertices"]
    return int(windows["metrics"]["read-records"])


def _asked(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310  # an http URL, see above
        return json.load(answer)


if __name__ == "__main__":
    main()
