"""An app with a checkpoint on distant storage: requests and milliseconds per batch.

The app counts by key with four tasks on two cores, batch after batch without a pause, on a real S3
server behind proxies that delay each request and its response by some milliseconds. The apps
alternate, so that all distances are measured under the same load of the machine.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession

from devtools.servers.kafka import KafkaBroker
from devtools.servers.s3 import Bucket, S3Server
from devtools.servers.slow_proxy import SlowProxy
from kstreams import (
    INT64,
    TEXT,
    App,
    Emitter,
    Kafka,
    Topic,
    TopologyBuilder,
    timestamped_store,
)
from kstreams.aggregators import count
from kstreams.app import BatchReport
from kstreams.operators import aggregate
from kstreams.spark.session import app_session
from kstreams_rocksdb import RocksDB

__all__ = ("by_distance",)

TRIPS_MS = (0, 25, 100)
TASKS = 4
CORES = 2
_ROWS = 400
_KEYS = 1_000
_WARM = 6
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)


@dataclass
class Distance:
    """Figures of one distance.

    Attributes:
        trip_ms: The round-trip time of a request and its response.
        batch_ms: The time from commit to commit, for each batch.
        requests: The number of requests in all batches, by method.
        batches: The number of batches.
    """

    trip_ms: float
    batch_ms: list[float] = field(default_factory=list)
    requests: Counter[str] = field(default_factory=Counter)
    batches: int = 0

    def figures(self) -> dict[str, float]:
        """Return the median batch time, and the requests per batch."""
        each = {method: count / self.batches for method, count in sorted(self.requests.items())}
        return {"batch_ms": median(self.batch_ms), **each}


def by_distance(home: Path, smoke: bool) -> dict[str, Any]:
    """Measure each distance, and print milliseconds and requests per batch."""
    rounds, batches = (1, 4) if smoke else (3, 40)
    session = app_session("distance", config={"spark.master": f"local[{CORES}]"})
    found = {trip: Distance(trip) for trip in TRIPS_MS}
    with ExitStack() as stack:
        server = stack.enter_context(S3Server(home / "s3"))
        bucket = Bucket(server.url, "distance")
        topics = Kafka(stack.enter_context(KafkaBroker(home / "kafka")).bootstrap)
        proxies = {
            trip: stack.enter_context(SlowProxy(home, server.address, trip_ms=trip))
            for trip in TRIPS_MS
        }
        for number in range(rounds):
            for trip, proxy in proxies.items():
                name = f"distance-{trip}-{number}"
                _measure(session, home / name, topics, bucket, proxy, batches, found[trip])
    print(
        f"\n{TASKS} tasks on {CORES} cores, {_ROWS} records a batch; medians, and requests a batch"
    )
    print(f"{'trip ms':>8}{'batch ms':>10}{'added':>8}  requests")
    nearest = found[TRIPS_MS[0]].figures()["batch_ms"]
    for trip, each in found.items():
        figures = each.figures()
        batch_ms = figures.pop("batch_ms")
        requests = ", ".join(f"{number:.2f} {method}" for method, number in figures.items())
        print(f"{trip:8}{batch_ms:10.0f}{batch_ms - nearest:8.0f}  {requests}")
    return {str(trip): each.figures() for trip, each in found.items()}


def _measure(
    session: SparkSession,
    home: Path,
    topics: Kafka,
    bucket: Bucket,
    proxy: SlowProxy,
    batches: int,
    into: Distance,
) -> None:
    """Run one app for this number of batches after the warm-up."""
    log = bucket.settings(home.name, endpoint_url=proxy.url)
    source, sink = _fill(topics, home.name, batches + _WARM)
    builder = TopologyBuilder("distance")
    counted = builder.add_processor(
        "count", aggregate(count(), store=COUNTS), builder.add_source("in", source)
    )
    builder.add_sink("out", sink, counted)
    committed: list[float] = []
    seen: list[Counter[str]] = []

    def on_batch(report: BatchReport) -> None:
        if report.source_records:
            committed.append(time.monotonic())
            seen.append(proxy.requests())

    with App(
        builder.build(),
        topics,
        state=RocksDB(directory=str(home / "local")),
        checkpoint=log,
        spark=session,
        trigger=timedelta(0),
        max_records_per_batch=_ROWS,
        parallelism=CORES,
        on_batch=on_batch,
    ) as app:
        app.run(until="end")
    measured = committed[_WARM:]
    into.batch_ms += [1000 * (later - earlier) for earlier, later in pairwise(measured)]
    into.requests += seen[-1] - seen[_WARM]
    into.batches += len(measured) - 1


def _fill(topics: Kafka, name: str, batches: int) -> tuple[Topic[str, int], Topic[str, int]]:
    """Return source and sink, with enough records for this number of batches in the source."""
    source, sink = Topic(f"{name}-in", TEXT, INT64), Topic(f"{name}-out", TEXT, INT64)
    with closing(topics.admin()) as admin:
        for topic in (source, sink):
            admin.create(topic.name, TASKS, config={"retention.ms": "-1"})
    rows = ((f"key-{number % _KEYS}", 1) for number in range(batches * _ROWS))
    with Emitter(source, topics) as emitter:
        emitter.emit_many(rows)
    return source, sink
