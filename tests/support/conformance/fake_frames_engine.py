"""Run cases as topologies on DataFrames: each as a separate query on a fake of Spark."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from kstreams import Topic
from kstreams.frames import Operator, transform_frames
from kstreams.processors.columns import Execution
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.directory import Directory
from tests.support.conformance.case import Case, Output
from tests.support.conformance.driver_engine import Answer, result_of, run_on_driver
from tests.support.conformance.numbered_values import NumberedValues
from tests.support.conformance.window_topologies import build, drops_nulls
from tests.support.fake_spark.frames import PlayedSession, rows_table
from tests.support.fake_spark.query import PlayedQuery, new_process

__all__ = ("in_time", "run_on_played_frames")


def in_time(case: Case, cut: str, execution: Execution) -> Case:
    """Return a case as DataFrames process it: records of a batch in the order of their times.

    If this order differs from the case's, the expected results are the test driver's for that
    order. Those of joins come from a model in any case.
    """
    places = [
        place
        for batch in case.batches(cut)
        for place in sorted(batch, key=lambda place: case.inputs[place].timestamp)
    ]
    if places == list(range(len(case.inputs))):
        return case
    found = replace(case, inputs=tuple(case.inputs[place] for place in places))
    if case.is_join:
        return found
    answer = run_on_driver(found, cut=cut, execution=execution)
    expected: list[tuple[Output, ...]] = [() for _ in case.inputs]
    for batch, results in zip(case.batches(cut), answer.batches, strict=True):
        expected[batch[-1]] = results
    dropped = None if case.dropped is None else answer.dropped
    return replace(found, expected=tuple(expected), dropped=dropped)


def run_on_played_frames(
    case: Case,
    *,
    cut: str,
    operator: Operator = "transform-with-state",
    execution: Execution = "records",
    state: StateBackend | None = None,
) -> Answer:
    """Run a case by one task. Within a batch, rows arrive in reverse order and Spark splits them.

    Args:
        case: A case as returned by `in_time`.
        cut: The size of batches.
        operator: The Spark operator that runs the groups.
        execution: The execution of the nodes.
        state: Backend with a log; in memory by default.
    """
    built = build(case, execution)
    letters = NumberedValues(case, execution, drops_nulls=drops_nulls(case))
    session, query = PlayedSession(width=1, splits=2), PlayedQuery()
    frames: dict[Topic[Any, Any] | str, Any] = {
        node.topic.name: session.stream(node.topic.name) for node in built.topology.sources
    }
    with tempfile.TemporaryDirectory(prefix="kstreams-frames-") as home:
        new_process()
        results = transform_frames(
            built.topology,
            frames,
            state=state or Memory(directory=home, log=Directory(str(Path(home) / "log"))),
            tasks=1,
            operator=operator,
            packages=(),
        )
        query.start(results.with_dropped)
        for batch in case.batches(cut):
            query.batch(_rows(case, batch, letters), 0)
    batches, dropped = [], 0
    for number in range(query.batches):
        found: list[Output] = []
        for row in _given(query.written[number]):
            if row["topic"] == results.dropped_topic:
                dropped += json.loads(row["value"])["count"]
            else:
                found.append(_output(built.sink, letters, row))
        batches.append(tuple(found))
    return Answer(tuple(batches), dropped)


def _rows(case: Case, batch: Iterable[int], letters: NumberedValues) -> dict[str, pa.Table]:
    by_topic: dict[str, list[dict[str, Any]]] = {}
    for place in reversed(list(batch)):
        row = case.inputs[place]
        made = {
            "timestamp": row.timestamp,
            "key": None if row.key is None else row.key.encode(),
            "value": letters.encoded(place),
            "partition": 0,
            "offset": place,
        }
        by_topic.setdefault(row.topic, []).append(made)
    return {topic: rows_table(rows) for topic, rows in by_topic.items()}


def _given(table: pa.Table | None) -> Sequence[dict[str, Any]]:
    rows: list[dict[str, Any]] = [] if table is None else table.to_pylist()
    return rows


def _output(sink: Topic[Any, Any], letters: NumberedValues, row: dict[str, Any]) -> Output:
    key, value = (
        None if data is None else serde.deserialize(data)
        for serde, data in ((sink.key, row["key"]), (sink.value, row["value"]))
    )
    return result_of(letters, key, value, round(row["timestamp"].timestamp() * 1000))
