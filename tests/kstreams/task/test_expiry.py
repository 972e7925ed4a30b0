"""The time to live of values is measured by the times of the task."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    key_value_store,
)
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.key_value.expiring import TtlClock
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.task.task import Task


def remembering(clock: TtlClock, seen: list[int | None]) -> Topology:
    spec = key_value_store("last", key=TEXT, value=INT64, ttl=timedelta(seconds=1), ttl_clock=clock)

    class Remember(FixedKeyProcessor[str, int, int]):
        def init(self, context: ProcessorContext[str, int]) -> None:
            self.store = context.store(spec)

        def process(self, record: Record[str, int]) -> None:
            seen.append(self.store.get(record.key))
            self.store.put(record.key, record.value)

    builder = TopologyBuilder("remembering")
    source = builder.add_source("in", Topic("in", TEXT, INT64))
    builder.add_processor("remember", Remember, source, stores=[spec])
    return builder.build()


@pytest.mark.parametrize("clock", ["stream", "wall"])
def test_store_values_expire_by_configured_clock(clock: TtlClock) -> None:
    from kstreams_testing.driver import TopologyTestDriver

    seen: list[int | None] = []
    with TopologyTestDriver(remembering(clock, seen)) as driver:
        topic = Topic("in", TEXT, INT64)
        for number, time in enumerate((0, 999, 1998, 2998)):
            driver.pipe_batch(topic, [Record("a", number, timestamp=time)])
    expected = [None, 0, 1, None] if clock == "stream" else [None, 0, 1, 2]
    assert seen == expected


def test_stores_of_task_use_its_stream_time_and_wall_clock_time() -> None:
    overlay = Overlay(MemoryStore(["last"]))
    group = remembering("stream", []).groups[0]
    Task(group, 0, overlay, TaskMeta(stream_time=7), wall_ms=9)
    assert (overlay.times.stream_time, overlay.times.wall_time) == (7, 9)
