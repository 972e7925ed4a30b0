"""Typed columns and bytes give equal results; the source's error policy handles unfit rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import INT64, DeadLetter, Topology, TopologyBuilder
from kstreams.aggregators import sum_
from kstreams.emit import each_update
from kstreams.frames import Operator, ResultFrames, transform_frames
from kstreams.operators import aggregate, map_values
from kstreams.state.backend.memory import Memory
from kstreams.state.log.directory import Directory
from kstreams.stores import timestamped_store
from kstreams.topology import OnError
from kstreams.workers.failure import WorkerFailure
from tests.kstreams.spark.frames.test_typed_columns import (
    CLIMATE,
    PLACE,
    READINGS,
    SHOWN,
    Place,
    Reading,
    shown,
)
from tests.support.fake_spark.frames import ROWS, PlayedSession
from tests.support.fake_spark.query import PlayedQuery, new_process

READING = pa.struct([("celsius", pa.float32()), ("note", pa.string()), ("place", PLACE)])
_TYPES = {"key": pa.int32(), "value": READING}
COLUMNS = pa.schema([field.with_type(_TYPES.get(field.name, field.type)) for field in ROWS])
FLOORS = timestamped_store("floors", key=INT64, value=INT64)
Row = dict[str, Any]


def floor(reading: Any) -> int:
    found: int = reading.place.floor
    return found


def topology(policy: OnError) -> Topology:
    """Return a topology: climate -> texts, and the sum of the floors of each key."""
    builder = TopologyBuilder("climate")
    climate = builder.add_source("climate", CLIMATE, on_error=policy)
    builder.add_sink("shown", SHOWN, builder.add_processor("show", map_values(shown), climate))
    floors = builder.add_processor("floor", map_values(floor), climate)
    summed = aggregate(sum_(INT64), store=FLOORS, emit=each_update())
    sums = builder.add_processor("sum", summed, floors)
    texts = builder.add_processor("text", map_values(str), sums)
    builder.add_sink("floors", SHOWN, texts)
    return builder.build()


def run(
    home: Path, batches: list[pa.Table], policy: OnError, operator: Operator
) -> tuple[list[Row], ResultFrames]:
    """Run a query on tables of rows; return all rows it writes."""
    new_process()
    query, session = PlayedQuery(), PlayedSession(splits=2)
    results = transform_frames(
        topology(policy),
        {CLIMATE: session.stream(CLIMATE.name, batches[0].schema)},
        state=Memory(directory=str(home / "local"), log=Directory(str(home / "log"))),
        tasks=2,
        operator=operator,
        packages=(),
    )
    query.start(results.with_dropped)
    for number, batch in enumerate(batches):
        query.batch({CLIMATE.name: batch}, 1_000 * number)
    return [row for table in query.written.values() for row in table.to_pylist()], results


def row(number: int, key: int, value: Row | None) -> Row:
    return {"timestamp": number, "key": key, "value": value, "partition": 0, "offset": number}


def reading(floor: int, celsius: float | None = 1.5) -> Row:
    return {"celsius": celsius, "note": None, "place": {"floor": floor, "name": "lab"}}


def as_bytes(table: pa.Table) -> pa.Table:
    """Return the rows serialized by the serdes, object by object."""
    rows = table.to_pylist()
    for each in rows:
        each["key"] = None if each["key"] is None else INT64.serialize(each["key"])
        value = each["value"]
        if value is not None:
            place = Place(**value["place"])
            made = Reading(place, value["celsius"], value["note"])
            each["value"] = READINGS.serialize(made)
    return pa.Table.from_pylist(rows, ROWS)


READINGS_DRAWN = st.none() | st.builds(
    reading, st.integers(-3, 90), st.sampled_from([0.0, -0.0, 1.5, float("inf")])
)
BATCHES = st.lists(
    st.lists(st.tuples(st.integers(0, 4), READINGS_DRAWN), min_size=1, max_size=8),
    min_size=1,
    max_size=3,
)


@pytest.mark.long
@given(BATCHES, st.sampled_from(["transform-with-state", "group-state"]))
@settings(max_examples=25)
def test_typed_columns_and_bytes_give_same_results(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[list[tuple[int, Row | None]]],
    operator: Operator,
) -> None:
    typed = [
        pa.Table.from_pylist([row(n, *each) for n, each in enumerate(batch)], COLUMNS)
        for batch in drawn
    ]
    home = tmp_path_factory.mktemp("columns")
    found, _ = run(home / "typed", typed, "fail", operator)
    expected, _ = run(home / "bytes", list(map(as_bytes, typed)), "fail", operator)
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


GIVEN = [
    [row(0, 1, reading(2)), row(1, 1, reading(3, None)), row(2, 2, reading(4))],
    [row(3, 2, reading(5, None)), row(4, 1, reading(6)), row(5, 3, reading(7, None))],
]
"""Rows with null in a field that allows none: three of six."""
TABLES = [pa.Table.from_pylist(rows, COLUMNS) for rows in GIVEN]


def sums(rows: list[Row]) -> list[tuple[int, str]]:
    return [
        (INT64.deserialize(r["key"]), r["value"].decode()) for r in rows if r["sink"] == "floors"
    ]


def dropped(rows: list[Row], results: ResultFrames) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in rows:
        if each["topic"] == results.dropped_topic:
            fields = json.loads(each["value"])
            found[fields["reason"]] = found.get(fields["reason"], 0) + fields["count"]
    return found


def test_unfit_rows_become_dead_letters(tmp_path: Path) -> None:
    rows, results = run(tmp_path, TABLES, DeadLetter("letters"), "transform-with-state")
    letters = [each for each in rows if each["topic"] == "letters"]
    assert sorted(INT64.deserialize(each["key"]) for each in letters) == [1, 2, 3]
    assert sorted(json.loads(each["value"])["place"]["floor"] for each in letters) == [3, 5, 7]
    for each in letters:
        fields = {header["key"]: header["value"] for header in each["headers"]}
        assert fields["kstreams-error-class"] == b"SerializationError"
        assert fields["kstreams-error-node"] == b"climate"
        assert b"celsius" in fields["kstreams-error-message"]
    assert dropped(rows, results) == {"dead-letter-SerializationError": 3}
    assert sorted(sums(rows)) == [(1, "2"), (1, "8"), (2, "4")]


def test_unfit_rows_are_skipped_and_counted(tmp_path: Path) -> None:
    rows, results = run(tmp_path, TABLES, "skip", "group-state")
    assert dropped(rows, results) == {"skipped-SerializationError": 3}
    assert sorted(sums(rows)) == [(1, "2"), (1, "8"), (2, "4")]


def test_unfit_row_fails_query_with_policy_fail(tmp_path: Path) -> None:
    text = r"field 'celsius': the value is null, but its schema does not allow null .node 'climate'"
    with pytest.raises(WorkerFailure, match=text):
        run(tmp_path, TABLES, "fail", "transform-with-state")
