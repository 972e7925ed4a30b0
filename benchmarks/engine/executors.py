"""Time of an empty batch on each executor, with a topology of four tasks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.engine.on_spark import PARTITIONS, show
from kstreams import (
    INT64,
    TEXT,
    App,
    Embedded,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
)
from kstreams.app import BatchReport
from kstreams.processors import PunctuationType

EXECUTORS: Mapping[str, Mapping[str, Any]] = {
    "spark": {},
    "embedded": {"engine": "embedded"},
    "group-state": {"stage": "group-state"},
}

WARMUP = 3
"""The number of batches at the start that are not measured."""


class Tick(FixedKeyProcessor[str, int, int]):
    """Processor with a punctuation that is due at every trigger and does nothing."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        every = timedelta(milliseconds=1)
        context.schedule(every, PunctuationType.WALL_CLOCK_TIME, lambda now: None)

    def process(self, record: Record[str, int]) -> None:
        pass


def ticking() -> Topology:
    builder = TopologyBuilder("tick")
    source = builder.add_source("in", Topic("in", TEXT, INT64))
    builder.add_processor("tick", Tick, source)
    return builder.build()


class Commits:
    """The times of an app's commits."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def note(self, _: BatchReport) -> None:
        self.times.append(time.perf_counter())

    def wait_for(self, count: int, app: App) -> None:
        """Wait until an app has committed a number of batches, or has failed."""
        while len(self.times) < count and app.failure is None:
            time.sleep(0.01)


def empty_batches(home: Path, seconds: float) -> dict[str, float]:
    """Measure empty batches for a number of seconds on each executor."""
    print(f"\nempty batches, {PARTITIONS} tasks with a punctuation\n")
    figures: dict[str, float] = {}
    for name, options in EXECUTORS.items():
        topics = Embedded(home / f"topics-{name}", durable=False)
        topics.admin().create("in", PARTITIONS)
        commits = Commits()
        app = App(
            ticking(),
            topics,
            checkpoint=home / f"checkpoint-{name}",
            trigger=timedelta(0),
            on_batch=commits.note,
            **options,
        )
        app.start()
        commits.wait_for(WARMUP, app)
        time.sleep(seconds)
        app.close()
        times = commits.times[WARMUP:]
        gaps = sorted(later - earlier for earlier, later in pairwise(times))
        figures[name] = 1000 * gaps[len(gaps) // 2]
        show(f"{name}, median of {len(gaps)} batches, ms", figures[name])
    return figures
