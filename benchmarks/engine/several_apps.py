"""Lag of apps that share one Spark session, each at a constant rate.

The lag of a record is the time from its emission until the commit of the batch with its result.
Topics are embedded. The producers run in the same process, so the cores are shared with them.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np

from benchmarks.engine.on_spark import show
from kstreams import (
    INT64,
    TEXT,
    App,
    Embedded,
    Emitter,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    key_value_store,
)
from kstreams.app import BatchReport
from kstreams.spark.session import app_session

APPS = 3
RATE = 2_000
KEYS = 1_000
PARTITIONS = 4
INTERVAL_S = 0.02
WARMUP_S = 10.0
"""The time at the start whose records are not measured."""
WORDS = Topic("words", TEXT, INT64)
RESULTS = Topic("results", TEXT, INT64)
COUNTS = key_value_store("counts", key=TEXT, value=INT64)


class Count(FixedKeyProcessor[str, int, int]):
    """Counts each key, and forwards the record with its value: the time of its emission."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.counts = context, context.store(COUNTS)

    def process(self, record: Record[str, int]) -> None:
        self.counts.put(record.key, (self.counts.get(record.key) or 0) + 1)
        self.context.forward(record)


def topology() -> Topology:
    builder = TopologyBuilder("counting")
    counts = builder.add_processor(
        "count", Count, builder.add_source("words", WORDS), stores=[COUNTS]
    )
    builder.add_sink("results", RESULTS, counts)
    return builder.build()


class MeasuredApp:
    """An app with its topics, its producer and the times of its commits.

    Args:
        number: The number of the app.
        home: A folder for its topics and its checkpoint.
    """

    def __init__(self, number: int, home: Path) -> None:
        self.topics = Embedded(home / f"topics-{number}", durable=False)
        self.admin = self.topics.admin()
        for topic in (WORDS, RESULTS):
            self.admin.create(topic.name, PARTITIONS)
        self.commits: list[tuple[float, dict[int, int]]] = []
        self.app = App(
            topology(),
            self.topics,
            app_id=f"app-{number}",
            checkpoint=home / f"checkpoint-{number}",
            trigger=timedelta(0),
            on_batch=self._note_commit,
        )

    def _note_commit(self, _: BatchReport) -> None:
        self.commits.append((time.time(), self.admin.end_offsets(RESULTS.name)))

    def produce(self, rate: int, end: float) -> None:
        """Emit records at a rate until a time."""
        count, due, sent = int(rate * INTERVAL_S), time.time(), 0
        with Emitter(WORDS, self.topics) as emitter:
            while due < end:
                now = time.time_ns()
                emitter.emit_many(
                    Record(f"key-{number % KEYS}", now, now // 1_000_000)
                    for number in range(sent, sent + count)
                )
                sent += count
                due += INTERVAL_S
                time.sleep(max(0.0, due - time.time()))

    def finish(self) -> None:
        """Wait for the results of all records, and close the app."""
        wanted = sum(self.admin.end_offsets(WORDS.name).values())
        while self.app.failure is None and (
            not self.commits or sum(self.commits[-1][1].values()) < wanted
        ):
            time.sleep(0.05)
        self.app.close()

    def lags_ms(self, since: float) -> list[float]:
        """Return the lag of each record that was emitted after a time, in milliseconds."""
        found: list[float] = []
        reader = self.topics.reader()
        for partition, end in self.admin.end_offsets(RESULTS.name).items():
            ends = [offsets[partition] for _, offsets in self.commits]
            for record in reader.read(RESULTS.name, partition, 0, end):
                emitted = INT64.deserialize(record.value or b"") / 1e9
                commit = bisect_right(ends, record.offset)
                if emitted >= since and commit < len(ends):
                    found.append((self.commits[commit][0] - emitted) * 1_000)
        return found


def lags(home: Path, seconds: float, rate: int = RATE) -> dict[str, float]:
    """Measure three apps on two cores for a number of seconds."""
    print(f"\n{APPS} apps in one Spark session with two cores, each at {rate:,} records/s\n")
    session = app_session("several-apps", config={"spark.master": "local[2]"})
    apps = [MeasuredApp(number, home) for number in range(APPS)]
    for each in apps:
        each.app.start()
    began = time.time()
    end = began + WARMUP_S + seconds
    producers = [threading.Thread(target=each.produce, args=(rate, end)) for each in apps]
    for thread in producers:
        thread.start()
    for thread in producers:
        thread.join()
    figures: dict[str, float] = {}
    for number, each in enumerate(apps):
        each.finish()
        _add(figures, f"app {number}", each.lags_ms(began + WARMUP_S))
    session.stop()
    return figures


def _add(figures: dict[str, float], name: str, found: Sequence[float]) -> None:
    for percent in (50, 99):
        label = f"{name}, lag of {len(found):,} records, p{percent}, ms"
        figures[label] = float(np.percentile(found, percent))
        show(label, figures[label])
