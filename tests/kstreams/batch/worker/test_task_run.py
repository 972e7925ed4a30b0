"""`TaskRun`: the one way in which a task runs its batches, for each driver."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import kstreams
from kstreams import INT64, TEXT, Processor, ProcessorContext, Record, Topic, TopologyBuilder
from kstreams.batch.messages.task_call import TaskCall
from kstreams.batch.worker.task_run import TaskRun
from kstreams.batch.worker.task_settings import TaskSettings
from kstreams.checkpoint.planning.plans import Slice
from kstreams.ids import TaskId, TopicPartition
from kstreams.state.backend.memory import MemoryStore
from kstreams.stores import key_value_store
from kstreams_testing.driver_io import DriverIO
from kstreams_testing.driver_topics import DriverTopics
from kstreams_testing.resident_objects import ResidentObjects
from kstreams_testing.resident_state import ResidentState

IN, OUT = Topic("in", TEXT, TEXT), Topic("out", TEXT, INT64)
COUNTS = key_value_store("counts", key=TEXT, value=INT64)


class Count(Processor[str, str, str, int]):
    """Counts records by key, and counts instances created and closed."""

    made: list[Count] = []

    def init(self, context: ProcessorContext[str, int]) -> None:
        super().init(context)
        self.counts = context.store(COUNTS)
        self.closed = False
        self.made.append(self)

    def process(self, record: Record[str, str]) -> None:
        count = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, count)
        self.context.forward(Record(record.key, count, record.timestamp))

    def close(self) -> None:
        self.closed = True


class Scene:
    """One task with its topics."""

    def __init__(self, **settings: Any) -> None:
        Count.made.clear()
        builder = TopologyBuilder("t")
        node = builder.add_processor("count", Count, builder.add_source("in", IN), stores=[COUNTS])
        builder.add_sink("out", OUT, node)
        (group,) = builder.build().groups
        self.topics = DriverTopics(1)
        self.io = DriverIO(self.topics, {})
        self.working = MemoryStore([COUNTS.name])
        self.state = ResidentState(self.working, ResidentObjects(), 0)
        made = TaskSettings(group, 0, self.io, producer="test", **settings)
        self.run = TaskRun(made, self.state)
        self.read = 0

    def batch(self, *keys: str, **call: Any) -> Any:
        rows = [(0, 7, key.encode(), b"v", ()) for key in keys]
        self.topics.add(("in", rows))
        start, self.read = self.read, self.read + len(keys)
        slices = (Slice("in", "in", 0, start, self.read),) if keys else ()
        return self.run.run(TaskCall(slices, 5, **call), self.io.read(slices)).status


def test_task_status_has_counts_and_sizes_of_records_read_and_due_time() -> None:
    status = Scene().batch("a", "b", "a")
    assert (status.task, status.records, status.source_records) == (TaskId("in", 0), 3, 3)
    ((place, (offsets, size)),) = status.sizes.items()
    assert (place, offsets, status.wall_due_ms) == (TopicPartition("in", 0), 3, None)
    assert size > 0


def test_state_is_visible_only_after_keep_and_results_only_after_publish() -> None:
    scene = Scene(keeps_processors=True)
    scene.batch("a")
    assert (scene.working.count("counts"), scene.topics.read("out")) == (0, [])
    scene.state.keep()
    scene.io.publish()
    assert scene.working.count("counts") == 1
    assert [record.key for record in scene.topics.read("out")] == [b"a"]


@pytest.mark.parametrize(
    ("keeps", "close", "made", "closed"),
    [(True, False, 1, [False]), (False, False, 2, [True, True]), (True, True, 2, [True, True])],
    ids=["kept", "made-for-each-batch", "windows-closed"],
)
def test_processors_are_kept_between_batches_if_configured(
    keeps: bool, close: bool, made: int, closed: list[bool]
) -> None:
    scene = Scene(keeps_processors=keeps)
    for _ in range(2):
        scene.batch("a", close_windows=close)
        scene.state.keep()
    assert [count.closed for count in Count.made] == closed
    assert len(Count.made) == made


def test_only_task_run_module_imports_task() -> None:
    root = Path(kstreams.__file__).parent
    importers = [
        str(path.relative_to(root))
        for path in sorted(root.rglob("*.py"))
        if re.search(r"^from kstreams\.task\.task import", path.read_text(), re.MULTILINE)
    ]
    assert importers == ["batch/worker/task_run.py"]
