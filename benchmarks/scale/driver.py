"""The driver's time for a batch of many tasks: `python -m benchmarks.scale.driver`.

The query, its plans and its commits are those of an app with a checkpoint in a directory. Topics
and workers are simulated: every partition gets records between batches, and every task returns a
status with the fields of a counting task. The time of the workers is not included.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.scale.batches import counting
from kstreams.batch.batch_run import BatchRun, Parts
from kstreams.batch.io.topic_io import BatchId, TopicIO
from kstreams.batch.messages.envelope import DRIVER, Content, Envelope
from kstreams.batch.messages.latency import Ages
from kstreams.batch.messages.task_call import TaskCall
from kstreams.batch.messages.task_numbers import TaskNumbers
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.batch.messages.worker_times import TASK_PHASES
from kstreams.batch.query_driver import QueryDriver
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.planning.plans import Plan, Slice
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import OpenedQuery, open_for_running
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.clock import SystemClock
from kstreams.connection import TopicEnds
from kstreams.global_tables.versions import Versions
from kstreams.graph.nodes import SourceNode
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TaskId, TopicPartition
from kstreams.raw_batch import NO_LIMIT
from kstreams.state import Memory
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import Commit, Output
from kstreams.state.log.directory import Directory
from kstreams.state.log.pointer import ObjectRef, PackPart, Pointer
from kstreams.state.log.topic_counts import TopicCounts
from kstreams.state.log.totals import NodeCounts, SourceRead
from kstreams.state.log.traffic import Traffic
from kstreams.task.gc_pause import gc_pauses
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records.queues import Queue

__all__ = ("DriverTimes", "main", "measure")

TASKS = (100, 1_000, 10_000)
WIDTH = 8
"""The number of workers."""
_RECORDS = 20
"""The number of records of each partition in a batch."""
_WARM = 2
_MEASURED = 5
_TOPIC = "in"
_DELTAS = 6
_DIGEST = "0123456789abcdef" * 4
_STEPS = ("plan", "record", "calls", "statuses", "commit")


@dataclass
class DriverTimes:
    """The seconds of the driver's steps in each batch.

    Attributes:
        steps: The seconds of each batch by step: `plan` determines the input of the batch,
            `record` writes the plan to the log, `calls` packs the messages to the workers,
            `statuses` parses their results, `commit` writes the commit.
    """

    steps: dict[str, list[float]] = field(default_factory=lambda: {step: [] for step in _STEPS})

    def totals(self) -> list[float]:
        """Return the seconds of all steps of each batch."""
        return [sum(batch) for batch in zip(*self.steps.values(), strict=True)]

    @contextmanager
    def during(self, step: str) -> Iterator[None]:
        """Measure a step of a batch."""
        began = time.perf_counter()
        yield
        self.steps[step].append(time.perf_counter() - began)


class _Positions:
    """The positions of a topic whose partitions get records when `grow` is called."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._end = 0

    def grow(self) -> None:
        self._end += _RECORDS

    def partition_count(self, topic: str) -> int:
        return self._partitions

    def ends(self, topic: str) -> TopicEnds:
        return TopicEnds("id", self.end_offsets(topic))

    def beginning_offsets(self, topic: str) -> dict[int, int]:
        return dict.fromkeys(range(self._partitions), 0)

    def end_offsets(self, topic: str) -> dict[int, int]:
        return dict.fromkeys(range(self._partitions), self._end)

    def offsets_at(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        return self.beginning_offsets(topic)

    def first_since(
        self, places: Iterable[tuple[str, int]], timestamp_ms: int
    ) -> dict[tuple[str, int], tuple[int, int]]:
        return dict.fromkeys(places, (0, 0))


class _NoIO(TopicIO):
    """Topics that no worker reads or writes."""

    def read(self, slices: Sequence[Slice], *, max_bytes: int = NO_LIMIT) -> list[Queue]:
        raise NotImplementedError

    def write(self, output: TaskOutput, group: PartitionGroup, batch: BatchId) -> Sequence[Output]:
        raise NotImplementedError


class _Feed:
    """A feed of simulated topics, which publishes nothing."""

    def __init__(self, positions: _Positions) -> None:
        self.admin = positions
        self.io: TopicIO = _NoIO()

    def known_ends(self, topic: str) -> TopicEnds:
        return self.admin.ends(topic)

    def slices(self, node: SourceNode, partition: int, start: int, stop: int) -> Iterable[Slice]:
        yield Slice(node.name, node.topic.name, partition, start, stop)

    def mean_bytes(self, place: TopicPartition, offset: int) -> float | None:
        return 100.0

    def prepare(self, publisher: str, topic: str, last: Commit | None) -> None:
        pass

    def publish(self, commit: Commit, objects: ObjectStore, check: Callable[[], None]) -> None:
        pass

    def sweep(self, producers: Iterable[str], *, older_than_ms: int) -> None:
        pass

    def close(self) -> None:
        pass


def measure(home: Path, tasks: int, *, measured: int = _MEASURED) -> DriverTimes:
    """Run batches of a query with a number of tasks, and measure the driver's steps.

    Args:
        home: An empty directory for the checkpoint.
        tasks: The number of tasks; each has one partition.
        measured: The number of measured batches, after the first ones.
    """
    topology = counting(repartition=False)
    settings = AppSettings(
        "driver",
        home_of(home / "checkpoint"),
        state=Memory(directory=str(home / "state"), log=Directory(str(home / "log"))),
    )
    group = topology.pipelines()[0][0]
    (opened,) = open_for_running(
        settings, topology, {group.name: tasks}, run="run", publish=lambda _: None
    )
    feed = _Feed(_Positions(tasks))
    query = _query(settings, opened, group, tasks, feed)
    driver = QueryDriver(query, opened, feed, clock=SystemClock(), fence=lambda: None, run="run")
    driver.publish_last()
    found = DriverTimes()
    for number in range(_WARM + measured):
        times = found if number >= _WARM else DriverTimes()
        feed.admin.grow()
        with gc_pauses():
            _run_batch(driver, query, opened, number, times)
    return found


def _query(
    settings: AppSettings, opened: OpenedQuery, group: PartitionGroup, tasks: int, feed: _Feed
) -> QuerySettings:
    return QuerySettings(
        settings,
        epoch=opened.epoch,
        state_name=opened.state_name,
        log=opened.log,
        groups=(group,),
        counts=(tasks,),
        width=WIDTH,
        io=feed.io,
        fingerprint="0" * 64,
    )


def _run_batch(
    driver: QueryDriver, query: QuerySettings, opened: OpenedQuery, number: int, times: DriverTimes
) -> None:
    began = time.perf_counter()
    with times.during("plan"):
        plan = driver.next_plan()
    if plan is None:
        raise RuntimeError("the planner found no records")
    with times.during("record"):
        plan = driver.record(number, plan)
    runs = BatchRun(query, planner=driver.planner, plans=opened.plans, fence=lambda: None)
    before = time.perf_counter()
    replied = 0.0

    def job(plan: Plan, parts: Parts, versions: Versions) -> Sequence[Content]:
        nonlocal replied
        times.steps["calls"].append(time.perf_counter() - before)
        payloads = [payload for part in parts.values() for _, payload in part]
        replies = [_reply(query.groups[0], payload, number) for payload in payloads]
        replied = time.perf_counter()
        return [Envelope.unpack(payload).content for payload in replies]

    plan, statuses = runs.run(number, plan, driver.last, job)
    times.steps["statuses"].append(time.perf_counter() - replied)
    with times.during("commit"):
        driver.commit(number, plan, statuses, began)


def _reply(group: PartitionGroup, payload: bytes, batch: int) -> bytes:
    """Return the message with a task's status, as a worker that wrote a delta to a pack."""
    call = Envelope.unpack(payload)
    content = call.content
    if not isinstance(content, TaskCall):
        raise TypeError("expected a TaskCall")
    task, place = TaskId(group.name, call.task), TopicPartition(_TOPIC, call.task)
    pack = f"driver/packs/{batch:020d}-{call.task % WIDTH:032x}"
    part = PackPart(1000 * (call.task // WIDTH), batch + 1)
    delta = ObjectRef(pack, _DIGEST[:16], 1_000, part=part)
    before = Pointer.empty() if content.pointer is None else Pointer.from_json(content.pointer)
    deltas = (*before.deltas, delta)[-_DELTAS:]
    pointer = Pointer(
        before.version + 1,
        _DIGEST,
        deltas=deltas,
        stores=("counts",),
        meta={
            "stream_time": 1_790_000_000_000,
            "offsets": {str(place): content.slices[-1].to_offset},
        },
    )
    counts = NodeCounts(_RECORDS, _RECORDS)
    status = TaskStatus(
        task,
        pointer.to_json(),
        records=_RECORDS,
        source_records=_RECORDS,
        sizes={place: (_RECORDS, 2_000)},
        counts=dict.fromkeys(("in", "count", "out"), counts),
        reads=(SourceRead("in", place, _RECORDS, _RECORDS),),
        log=Traffic(),
        numbers=TaskNumbers(
            busy_us=dict.fromkeys(TASK_PHASES, 1_000),
            nodes_us={"count": 1_000, "": 500},
            worker="machine/1",
            began_ms=1_790_000_000_000,
            rows={"counts": 1_000},
            ages=Ages(dict.fromkeys(range(20, 25), 4), 1_000),
        ),
        topics={
            "in": TopicCounts(records_in=_RECORDS, bytes_in=300),
            "out": TopicCounts(records_out=_RECORDS, bytes_out=300),
        },
    )
    return Envelope(DRIVER, call.task, status).pack()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.driver", description=__doc__)
    parser.add_argument("--tasks", type=int, action="append", help=f"default: {TASKS}")
    parser.add_argument(
        "--batches", type=int, default=_MEASURED, help=f"measured batches, default: {_MEASURED}"
    )
    options = parser.parse_args(arguments)
    print(f"{'tasks':>7}{'batch, median s':>17}" + "".join(f"{step:>10}" for step in _STEPS))
    for tasks in options.tasks or TASKS:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(Path(folder), tasks, measured=options.batches)
        steps = "".join(f"{median(seconds):>10.3f}" for seconds in found.steps.values())
        print(f"{tasks:>7}{median(found.totals()):>17.3f}{steps}", flush=True)


if __name__ == "__main__":
    main()
