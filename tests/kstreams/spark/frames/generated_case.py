"""Runs a generated case on DataFrames, one micro-batch for each of its batches."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from kstreams import Topic, Topology
from kstreams.frames import Operator, transform_frames
from kstreams.partitioner import Murmur2Partitioner, partition_of, targets
from kstreams.spark.frames.task_keys import task_of
from kstreams.spark.frames.task_record import TaskRecord
from kstreams.state.backend.memory import Memory, MemoryStore
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.directory import Directory
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.pointer import Pointer
from kstreams.stores import StoreSpec
from tests.support.fake_spark.frames import PlayedSession, rows_table
from tests.support.fake_spark.query import PlayedQuery, new_process
from tests.support.generated.case import Batch, Case, RawRecord, Result, Row
from tests.support.generated.driver_run import compared_stores
from tests.support.generated.join_plan import JoinPlan

__all__ = ("Death", "Died", "as_frames_have_it", "run_on_frames", "store_rows", "tasks_of")


class Died(Exception):
    """A simulated crash of a worker or driver."""


@dataclass
class Death:
    """A crash in a batch.

    Attributes:
        moment: The moment, as named by `PlayedQuery.batch`.
        nth: The number of passes of the moment before the crash.
        restarts: Let another process continue after a new start of the query.
    """

    moment: str
    nth: int = 0
    restarts: bool = True

    def reach(self, moment: str) -> None:
        """Crash if `moment` is the planned one."""
        if moment == self.moment:
            self.nth -= 1
            if self.nth < 0:
                raise Died(moment)


def tasks_of(case: Case) -> int:
    """Return the number of tasks that read the sources."""
    return case.plan.partitions["in0"]


def as_frames_have_it(case: Case) -> Case:
    """Return a case in the form in which DataFrames pass it to tasks.

    Records of a batch are in the order of their times, and those without a key are distributed
    round-robin. Outputs whose records name their task have no partitions, because DataFrames have
    none.
    """
    plan, tasks = case.plan, tasks_of(case)
    if not isinstance(plan, JoinPlan):
        outputs = {name: 1 for name in plan.partitions if not name.startswith("in")}
        plan = replace(plan, partitions={**plan.partitions, **outputs})
    return Case(plan, tuple(_placed(batch, tasks) for batch in case.batches))


def _placed(batch: Batch, tasks: int) -> Batch:
    found: list[RawRecord] = []
    for topic in dict.fromkeys(record.topic for record in batch.records):
        own = [record for record in batch.records if record.topic == topic]
        own.sort(key=lambda record: record.timestamp)  # a record without a key goes by its number
        keys = pa.array([record.key for record in own], pa.binary())
        places = targets(Murmur2Partitioner(), keys, tasks)
        found += [
            replace(record, partition=int(place)) for record, place in zip(own, places, strict=True)
        ]
    return Batch(tuple(sorted(found, key=lambda record: record.timestamp)), batch.wall_ms)


def run_on_frames(
    case: Case, home: Path, operator: Operator, deaths: Sequence[Death] = ()
) -> Result:
    """Run a case in an empty home directory.

    Args:
        case: A case returned by `as_frames_have_it`.
        home: Directory of the state.
        operator: The stateful operator that runs the groups.
        deaths: Crashes, in order; each batch takes the next one.
    """
    topology, query = case.plan.topology(), PlayedQuery()
    state = Memory(directory=str(home / "local"), log=Directory(str(home / "log")))
    splits = 1 if any(record.key is None for record in case.records) else 2

    def start() -> None:
        new_process()
        session = PlayedSession(splits=splits)
        frames: dict[Topic[Any, Any] | str, Any] = {
            name: session.stream(name) for name in _topics(topology)
        }
        results = transform_frames(
            topology,
            frames,
            state=state,
            tasks=tasks_of(case),
            operator=operator,
            packages=(),
        )
        query.start(results.with_dropped)

    start()
    left = list(deaths)
    for number, batch in enumerate(case.batches):
        rows = _rows(batch)
        while left and query.batches == number:
            with suppress(Died):
                query.batch(rows, batch.wall_ms, left[0].reach)
            if left.pop(0).restarts:
                start()
        if query.batches == number:
            query.batch(rows, batch.wall_ms)
    result = Result()
    for number in range(query.batches):
        _add(result, query.written[number], case.plan.partitions)
    for spec in compared_stores(topology):
        result.stores[spec.name] = store_rows(topology, spec, query, state.log)
    return result


def _topics(topology: Topology) -> list[str]:
    return [node.topic.name for node in topology.sources]


def _rows(batch: Batch) -> dict[str, pa.Table]:
    by_topic: dict[str, list[Mapping[str, Any]]] = {}
    for offset, record in enumerate(batch.records):
        headers = [{"key": name, "value": value} for name, value in record.headers]
        row = {
            "timestamp": record.timestamp,
            "key": record.key,
            "value": record.value,
            "headers": headers or None,
            "partition": 0,
            "offset": offset,
        }
        by_topic.setdefault(record.topic, []).append(row)
    return {topic: rows_table(rows) for topic, rows in by_topic.items()}


def _add(result: Result, table: pa.Table | None, partitions: Mapping[str, int]) -> None:
    """Add the rows of a batch to a result."""
    dropped = Counter(result.dropped)
    for row in [] if table is None else table.to_pylist():
        if row["sink"].startswith("dropped:"):
            counts = json.loads(row["value"])
            dropped[counts["reason"]] += counts["count"]
            continue
        headers = tuple((each["key"], each["value"]) for each in row["headers"] or ())
        time_ms = round(row["timestamp"].timestamp() * 1000)
        found: Row = (row["key"], row["value"], time_ms, headers)
        count = partitions[row["topic"]]
        place = 0 if row["key"] is None else partition_of(row["key"], count)
        result.outputs.setdefault((row["topic"], place), []).append(found)
    result.dropped = dict(dropped)


def store_rows(
    topology: Topology, spec: StoreSpec[Any], query: PlayedQuery, log: ObjectStoreSettings | None
) -> dict[Any, Any]:
    """Return the contents of a store over all tasks, as of the last batch of the query."""
    groups = [group for pipeline in topology.pipelines() for group in pipeline]
    group = topology.group_of_store(spec.name)
    found: dict[Any, Any] = {}
    assert log is not None
    for key, text in query.records(groups.index(group)).items():
        record = TaskRecord.from_json(text)
        if record.pointer is None:
            continue
        version = Pointer.from_json(record.pointer)
        store = MemoryStore(sorted({*version.stores, spec.name}))
        task = TaskKey(record.state_name, group.name, task_of(key))
        DurableLog(log.open(), task).restore(version, store)
        opened: Any = spec.open(Overlay(store))
        found.update(opened.range())
    return found
