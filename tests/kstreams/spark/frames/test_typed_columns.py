"""Typed columns of frames are encoded by the serde's encoder, or rejected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kstreams import BYTES, INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.errors import CompileError, SerializationError
from kstreams.frames import SourceFrame, transform_frames
from kstreams.operators import map_values
from kstreams.serde import DOUBLE, INT32
from kstreams.serde.base import Serde
from kstreams.spark.frames.typed_columns import encoded, misfit
from kstreams_avro import avro_serde
from tests.kstreams.spark.frames.test_transform import on_driver
from tests.support.spark.file_streams import rows_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Place:
    """A place with name and floor."""

    name: str
    floor: int


@dataclass(frozen=True)
class Reading:
    """A value with columns."""

    place: Place
    celsius: float
    note: str | None


READINGS: Serde[Reading] = avro_serde(Reading)
CLIMATE = Topic("climate", INT64, READINGS)
SHOWN = Topic("shown", INT64, TEXT)
PLACE = pa.struct([("floor", pa.int32()), ("name", pa.string())])
GIVEN = pa.struct([("celsius", pa.float32()), ("note", pa.string()), ("place", PLACE)])
ROW = {"celsius": 1.5, "note": None, "place": {"floor": 3, "name": "lab"}}


def test_structs_are_encoded_like_objects_by_serde() -> None:
    assert misfit(GIVEN, READINGS) is None
    data = encoded(pa.array([ROW, None], GIVEN), READINGS)
    expected = READINGS.serialize(Reading(Place("lab", 3), 1.5, None))
    assert data.to_pylist() == [expected, None]


def test_narrower_numbers_are_widened() -> None:
    assert misfit(pa.int16(), INT64) is None
    data = encoded(pa.array([7, None], pa.int16()), INT64)
    assert data.to_pylist() == [INT64.serialize(7), None]


def without(kind: pa.StructType, name: str) -> pa.DataType:
    return pa.struct([field for field in kind if field.name != name])


MISFITS: list[tuple[pa.DataType, Serde[Any], str]] = [
    (pa.int64(), INT32, "it is int64, expected int32"),
    (pa.int32(), DOUBLE, "it is int32, expected double"),
    (pa.bool_(), TEXT, "it is bool, expected string"),
    (pa.int32(), BYTES, "reads only bytes"),
    (without(GIVEN, "note"), READINGS, "not 'place', 'celsius', 'note'"),
    (
        pa.struct([*without(GIVEN, "place"), ("place", without(PLACE, "floor"))]),
        READINGS,
        "place has fields 'name', not 'name', 'floor'",
    ),
    (
        pa.struct([*without(GIVEN, "note"), ("note", pa.date32())]),
        READINGS,
        "note is date32",
    ),
]


@pytest.mark.parametrize(("kind", "serde", "says"), MISFITS, ids=[says for *_, says in MISFITS])
def test_columns_of_unsupported_type_are_rejected(
    kind: pa.DataType, serde: Serde[Any], says: str
) -> None:
    problem = misfit(kind, serde)
    assert problem is not None
    assert says in problem


def test_value_that_does_not_fit_raises_typed_error() -> None:
    with pytest.raises(SerializationError, match="celsius"):
        encoded(pa.array([{**ROW, "celsius": None}], GIVEN), READINGS)


def shown(reading: Reading) -> str:
    return f"{reading.place.name} {reading.place.floor}: {reading.celsius}"


def test_typed_columns_give_same_results_as_records(stream_session: SparkSession) -> None:
    builder = TopologyBuilder("climate")
    climate = builder.add_source("climate", CLIMATE)
    builder.add_sink("shown", SHOWN, builder.add_processor("show", map_values(shown), climate))
    topology = builder.build()
    frame = stream_session.sql(
        "SELECT int(id % 5) AS room, timestamp_millis(id) AS timestamp, named_struct("
        "'celsius', float(id), 'note', string(null), "
        "'place', named_struct('floor', int(id), 'name', 'lab')) AS value FROM range(20)"
    )
    results = transform_frames(
        topology, {CLIMATE: SourceFrame(frame, key="room")}, tasks=2, packages=()
    )
    records = [Record(n % 5, Reading(Place("lab", n), float(n), None), n) for n in range(20)]
    expected = on_driver(topology, CLIMATE, [records], [SHOWN])["shown"]
    assert rows_of(results[SHOWN], SHOWN) == expected


def test_columns_that_do_not_fit_are_rejected(stream_session: SparkSession) -> None:
    builder = TopologyBuilder("climate")
    builder.add_sink("shown", CLIMATE, builder.add_source("climate", CLIMATE))
    frame = stream_session.createDataFrame([], "key bigint, value struct<celsius: double>")
    with pytest.raises(CompileError, match="has fields 'celsius', not 'place'") as caught:
        transform_frames(builder.build(), {CLIMATE: frame}, packages=())
    assert "Cast or encode the column" in caught.value.hint
