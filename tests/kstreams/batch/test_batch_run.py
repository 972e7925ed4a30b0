"""A batch of two stages without Spark: calls, edges, statuses, refusals, smaller plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kstreams import INT64, TEXT, Embedded, Topic, Topology, TopologyBuilder
from kstreams.batch.batch_run import BatchRun, Parts
from kstreams.batch.io.embedded.feed import EmbeddedFeed
from kstreams.batch.messages.envelope import Content, Envelope
from kstreams.batch.messages.task_call import TaskCall
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.batch.planning.batch_size import RecordSizes
from kstreams.batch.planning.planner import BatchPlanner
from kstreams.batch.worker.stage_run import Message, StageRun
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.batch.worker.worker_state import WorkerState
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.connection import TopicEnds
from kstreams.errors import ExecutionError, KStreamsError
from kstreams.global_tables.versions import Versions
from kstreams.ids import TaskId
from kstreams.operators import map_
from kstreams.state.backend.memory import Memory
from kstreams.state.log.commits import Commit
from kstreams.state.log.directory import Directory, DirectoryObjectStore
from kstreams.stores import key_value_store
from tests.support.topologies.counting_topologies import Count

IN, OUT = Topic("in", TEXT, TEXT), Topic("out", TEXT, INT64)
COUNTS = key_value_store("counts", key=TEXT, value=INT64)
PARTITIONS = 2


def by_value() -> Topology:
    """Count records by value, in a second stage."""
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN)
    mapped = builder.add_processor("by-value", map_(lambda key, value: (value, key)), source)
    moved = builder.repartition("move", mapped, key=TEXT, value=TEXT)
    builder.add_sink("out", OUT, builder.add_processor("count", Count, moved, stores=[COUNTS]))
    return builder.build()


class Query:
    """A query whose workers run in this process, and that records all worker messages."""

    def __init__(self, home: Path, max_bytes: int = 1 << 20) -> None:
        connection = Embedded(home / "topics", default_partitions=PARTITIONS, durable=False)
        self.log = connection.log()
        self.log.ensure("in", PARTITIONS)
        self.feed = EmbeddedFeed(connection)
        groups = by_value().groups
        self.settings = QuerySettings(
            AppSettings(
                "app",
                home_of(home / "checkpoint"),
                state=Memory(directory=str(home / "local")),
                max_bytes_per_batch=max_bytes,
            ),
            epoch="epoch",
            state_name="scope",
            log=Directory(str(home / "log")),
            groups=groups,
            counts=(PARTITIONS, PARTITIONS),
            width=2,
            io=self.feed.io,
        )
        self.worker = WorkerState()
        self.plans = PlanLog(DirectoryObjectStore(home / "plans"))
        self.planner = BatchPlanner(
            self.feed,
            groups,
            max_records=1_000,
            max_bytes=max_bytes,
            plans=self.plans,
            positions={},
        )
        self.planner.portions.sizes = RecordSizes(lambda *_: 1.0)  # an estimate that is too small
        self.appended = 0
        self.fenced = 0
        self.run = BatchRun(
            self.settings, planner=self.planner, plans=self.plans, fence=self._fence
        )
        self.jobs: list[Plan] = []
        self.pointers: dict[TaskId, str] = {}

    def _fence(self) -> None:
        self.fenced += 1

    def append(self, partition: int, *values: str) -> None:
        table = pa.table(
            {
                "timestamp": pa.array([5] * len(values), pa.int64()),
                "key": pa.array([b"key"] * len(values), pa.binary()),
                "value": pa.array([value.encode() for value in values], pa.binary()),
            }
        )
        self.appended += 1
        self.log.append("in", partition, table, producer="test", batch=self.appended)

    def batch(self, number: int) -> tuple[Plan, list[TaskStatus]]:
        plan = self.planner.next()
        assert plan is not None
        plan = self.plans.write(number, plan)
        plan, statuses = self.run.run(
            number, plan, Commit(number - 1, "run", 0, self.pointers), self.job
        )
        for status in statuses:
            self.pointers[status.task] = status.pointer
            done = Commit(number, "run", 0, {}, outputs=status.outputs)
            self.feed.publish(done, self.settings.log.open(), lambda: None)
        return plan, statuses

    def job(self, plan: Plan, parts: Parts, versions: Versions) -> Sequence[Content]:
        self.jobs.append(plan)
        messages = [list(part) for part in parts.values()]
        for stage in self.settings.stages():
            replies: list[Message] = []
            for part in messages:
                replies += self.stage_run(stage, plan).messages(payload for _, payload in part)
            messages = [[m for m in replies if m[0] == n] for n in range(self.settings.width)]
        return [Envelope.unpack(payload).content for part in messages for _, payload in part]

    def stage_run(self, stage: Any, plan: Plan) -> StageRun:
        return StageRun(stage, self.worker, len(self.jobs), plan.cuts)

    def totals(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for partition in range(self.log.ensure("out", PARTITIONS).partitions):
            for segment in self.log.segments("out", partition):
                table = self.log.read(segment)
                keys, values = (table.column(name).to_pylist() for name in ("key", "value"))
                for key, value in zip(keys, values, strict=True):
                    found[key.decode()] = int.from_bytes(value, "big", signed=True)
        return found


def test_later_stage_runs_only_tasks_that_received_records(tmp_path: Path) -> None:
    query = Query(tmp_path)
    query.append(0, "a", "a", "a")  # leaves one task without records
    plan, statuses = query.batch(0)
    assert list(plan.tasks) == [(0, 0)]
    groups = [group.name for group in query.settings.groups]
    assert {status.task.group for status in statuses} == set(groups)
    assert all(status.records for status in statuses)
    by_group = {
        name: sum(status.records for status in statuses if status.task.group == name)
        for name in groups
    }
    assert by_group == dict.fromkeys(groups, 3)
    assert query.totals() == {"a": 3}


def test_state_continues_from_pointers_of_previous_batch(tmp_path: Path) -> None:
    query = Query(tmp_path)
    for number in range(3):
        query.append(number % 2, "a", "b")
        query.batch(number)
    assert query.totals() == {"a": 3, "b": 3}


def test_refused_plan_is_replaced_by_smaller_plan_in_plan_log(tmp_path: Path) -> None:
    query = Query(tmp_path, max_bytes=10_000)
    query.append(0, *["a"] * 400)
    plan, _ = query.batch(0)
    whole, smaller = query.jobs[0], query.jobs[-1]
    assert whole.record_count == 400
    assert 0 < smaller.record_count < 400
    assert query.plans.at(0) == plan == smaller
    assert query.fenced == len(query.jobs) - 1 >= 1
    assert query.totals() == {"a": smaller.record_count}


def test_refused_batch_runs_no_task_of_later_stages(tmp_path: Path) -> None:
    query = Query(tmp_path, max_bytes=10_000)
    query.append(0, *["a"] * 400)
    query.append(1, "a", "b")  # the second worker's records fit
    plan = query.planner.next()
    assert plan is not None
    replies: list[Sequence[Content]] = []

    def job(plan: Plan, parts: Parts, versions: Versions) -> Sequence[Content]:
        replies.append(query.job(plan, parts, versions))
        return replies[-1]

    query.run.run(0, query.plans.write(0, plan), None, job)
    first, second = (group.name for group in query.settings.groups)
    done = [[c.task.group for c in each if isinstance(c, TaskStatus)] for each in replies]
    assert done[0] == [first]
    assert second in done[-1]


def test_second_call_of_same_task_in_a_batch_raises_execution_error(tmp_path: Path) -> None:
    query = Query(tmp_path)
    call = Envelope(0, 0, TaskCall((), 5)).pack()
    run = query.stage_run(query.settings.stages()[0], Plan({}))
    with pytest.raises(ExecutionError, match="received 2 calls in a batch"):
        list(run.messages([call, call]))


def test_error_of_interrupted_worker_names_record_in_progress(tmp_path: Path) -> None:
    def interrupted(key: str, value: str) -> tuple[str, str]:
        raise KeyboardInterrupt

    query = Query(tmp_path)
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN)
    builder.add_processor("stop", map_(interrupted), source)
    (group,) = builder.build().groups
    query.append(1, "a")
    plan = query.planner.next()
    assert plan is not None
    settings = replace(query.settings, groups=(group,), counts=(PARTITIONS,))
    run = query.stage_run(settings.stages()[0], plan)
    call = TaskCall(tuple(plan.tasks[0, 1]), 5)
    with pytest.raises(KStreamsError) as caught:
        list(run.messages([Envelope(0, 1, call).pack()]))
    where = caught.value.where
    assert (where.node, where.topic, where.partition, where.offset) == ("stop", "in", 1, 0)


def test_stage_settings_contain_only_its_group_and_changelogs(tmp_path: Path) -> None:
    settings = Query(tmp_path).settings
    whole = replace(
        settings, changelogs={"counts": TopicEnds("", {0: 0, 1: 0}), "other": TopicEnds("", {0: 0})}
    )
    first, second = whole.stages()
    assert [first.group, second.group] == list(settings.groups)
    assert [each.query.groups for each in (first, second)] == [(), ()]
    assert [set(each.query.changelogs) for each in (first, second)] == [set(), {COUNTS.name}]
    assert (set(first.exits.values()), set(second.exits)) == ({1}, set())
