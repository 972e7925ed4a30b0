"""Run cases as topologies on DataFrames of a real session: many in one query, a task each.

Every task has the nodes of all cases of its lane, as in `spark_engine`. Keys begin with the number
of their case, which determines the task.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kstreams import Topic
from kstreams import TopologyBuilder as Builder
from kstreams.frames import Operator, transform_frames
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.directory import Directory
from tests.support.conformance.case import Output
from tests.support.conformance.driver_engine import Answer
from tests.support.conformance.join_lane import JoinLane
from tests.support.conformance.lane import Lane, Run
from tests.support.conformance.window_lane import WindowLane
from tests.support.spark.file_streams import SETTINGS, Streams

__all__ = ("run_on_frames",)

_ROWS = "key binary, value binary, timestamp long"


def run_on_frames(
    runs: Sequence[Run],
    session: SparkSession,
    *,
    cut: str,
    operator: Operator = "transform-with-state",
    state: StateBackend | None = None,
) -> list[Answer]:
    """Return the answers of cases that are `in_time`, in the order of the runs."""
    own = session.newSession()
    for name, value in SETTINGS.items():
        own.conf.set(name, value)
    own.conf.set("spark.sql.shuffle.partitions", "1")  # each one has a cost in each batch
    own.conf.set("spark.sql.streaming.unsupportedOperationCheck", "false")  # for `group-state`
    with tempfile.TemporaryDirectory(prefix="kstreams-frames-") as home:
        return _QueryRun(runs, Streams(Path(home), own), cut).answers(operator, state)


class _QueryRun:
    """A query, and the results of its cases."""

    def __init__(self, runs: Sequence[Run], streams: Streams, cut: str) -> None:
        self._streams = streams
        self._order: list[tuple[str, int]] = []
        by_lane: dict[str, list[Run]] = defaultdict(list)
        for run in runs:
            name = (JoinLane if run.case.is_join else WindowLane).name_of(run)
            self._order.append((name, len(by_lane[name])))
            by_lane[name].append(run)
        self._lanes = {name: _lane(name, own) for name, own in by_lane.items()}
        self._places = dict(zip(self._order, range(len(runs)), strict=True))
        self._batches = [run.case.batches(cut) for run in runs]
        self._found: list[list[list[Output]]] = [[[] for _ in own] for own in self._batches]
        self._late = [0] * len(runs)

    def answers(self, operator: Operator, state: StateBackend | None) -> list[Answer]:
        """Write a file for each topic and batch, and run a query on all of them."""
        streams = self._streams
        for ranges in zip_longest(*self._batches, fillvalue=range(0)):
            self._write(ranges)
        builder = Builder("conformance")
        for lane in self._lanes.values():
            lane.add_to(builder)
        topology = builder.build()
        topics: list[Topic[Any, Any]] = [node.topic for node in topology.sources]
        results = transform_frames(
            topology,
            {topic.name: streams.stream(topic, _ROWS) for topic in topics},
            state=state or Memory(log=Directory(str(streams.home / "log"))),
            tasks=max(len(lane.runs) for lane in self._lanes.values()),
            operator=operator,
            packages=(),
        )
        query = (
            results.all.writeStream.foreachBatch(self._take)
            .option("checkpointLocation", str(streams.home / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return [self._answer(place) for place in range(len(self._order))]

    def _write(self, ranges: Sequence[range]) -> None:
        """Write the next batch of all cases; sources without records have an empty file."""
        parts: dict[str, list[pa.Table]] = defaultdict(list)
        for (name, number), batch in zip(self._order, ranges, strict=True):
            for topic, table in self._lanes[name].tables(number, batch).items():
                parts[topic].append(table)
        for lane in self._lanes.values():
            for side in lane.sides:
                topic = lane.input(side)
                tables = parts[topic] or [_EMPTY]
                self._streams.add(topic, pa.concat_tables(tables))

    def _take(self, frame: DataFrame, batch: int) -> None:
        """Store the results of a batch by case."""
        lanes = {lane.output: name for name, lane in self._lanes.items()}
        for row in frame.toArrow().to_pylist():
            name = lanes.get(row["topic"])
            if name is None:  # counts of dropped records, which arrive as late records do
                continue
            number, *fields = json.loads(row["value"])
            time_ms = round(row["timestamp"].timestamp() * 1000)
            found = self._lanes[name].result(number, fields, time_ms)
            place = self._places[name, number]
            if found is None:
                self._late[place] += 1
            else:
                self._found[place][batch].append(found)

    def _answer(self, place: int) -> Answer:
        name, number = self._order[place]
        lane = self._lanes[name]
        nulls = sum(map(lane.dropped_before, lane.runs[number].case.inputs))
        return Answer(tuple(map(tuple, self._found[place])), self._late[place] + nulls)


_EMPTY = pa.schema(
    [("timestamp", pa.int64()), ("key", pa.binary()), ("value", pa.binary())]
).empty_table()


def _lane(name: str, runs: Sequence[Run]) -> Lane:
    if runs[0].case.is_join:
        return JoinLane(name, runs)
    return WindowLane(name, runs, keys_tell=True)
