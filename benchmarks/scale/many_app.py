"""The app of the run on many partitions; its machines have only the installed library.

`spark-submit many_app.py OPTIONS`, where OPTIONS is a JSON object. The app counts by key until
SIGTERM, and prints a line of JSON when the session has started and after each commit. With
`empty_tasks` it runs this number of Spark tasks that do nothing twice, and prints the duration of
the second run.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import timedelta

from pyspark.sql import SparkSession

from kstreams import BYTES, INT64, TEXT, App, Kafka, Topic, TopologyBuilder, timestamped_store
from kstreams.aggregators import count
from kstreams.app import BatchReport
from kstreams.operators import aggregate
from kstreams_rocksdb import RocksDB
from kstreams_s3 import S3


def say(**found: object) -> None:
    """Print figures as a line of JSON."""
    sys.stdout.write(f"{json.dumps({'at': time.monotonic(), **found})}\n")
    sys.stdout.flush()


def on_batch(report: BatchReport) -> None:
    """Print the figures of a batch, unless it had no records."""
    if report.source_records:
        say(records=report.source_records, seconds=report.seconds, puts=report.log.puts)


def run_empty(session: SparkSession, tasks: int) -> None:
    """Print the duration of a job with empty tasks, each in a Python worker."""
    data = session.sparkContext.parallelize(range(tasks), tasks)
    data.foreachPartition(lambda rows: None)
    began = time.monotonic()
    data.foreachPartition(lambda rows: None)
    say(records=0, seconds=time.monotonic() - began)


def main() -> None:
    """Run the app."""
    options = json.loads(sys.argv[1])
    builder = TopologyBuilder("many")
    source = builder.add_source("in", Topic(options["source"], TEXT, BYTES))
    store = timestamped_store("counts", key=TEXT, value=INT64)
    counted = builder.add_processor("count", aggregate(count(), store=store), source)
    builder.add_sink("out", Topic(options["sink"], TEXT, INT64), counted)
    session = SparkSession.builder.getOrCreate()
    say(session=True)
    if "empty_tasks" in options:
        run_empty(session, options["empty_tasks"])
        return
    App(
        builder.build(),
        Kafka(options["bootstrap"]),
        state=RocksDB(),
        checkpoint=S3(**options["s3"]),
        trigger=timedelta(0),
        max_records_per_batch=options["batch"],
        parallelism=options["parallelism"],
        packages=[],
        spark=session,
        on_batch=on_batch,
    ).run()


if __name__ == "__main__":
    main()
