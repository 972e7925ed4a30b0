"""Random schemas and values: columns, single values and fastavro give equal results."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams.errors import DeserializationError
from kstreams_avro import avro_schema, avro_serde

LETTERS = "a\x00é😀"
INTS = st.integers(-(2**31), 2**31 - 1)
LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-70, 70)
TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(timezone.utc))

Case = tuple[Any, st.SearchStrategy[Any]]

SCALARS: list[Case] = [
    ("null", st.none()),
    ("boolean", st.booleans()),
    ("int", INTS),
    ("long", LONGS),
    ("float", st.floats(width=32, allow_nan=False)),
    ("double", st.floats(allow_nan=False)),
    ("bytes", st.binary(max_size=5)),
    ("string", st.text(LETTERS, max_size=5)),
    ({"type": "int", "logicalType": "date"}, st.dates(date(1, 1, 1), date(9999, 12, 31))),
    ({"type": "long", "logicalType": "timestamp-micros"}, TIMES),
    ({"type": "long", "logicalType": "time-micros"}, st.times()),
    (
        {"type": "int", "logicalType": "time-millis"},
        st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)),
    ),
    ({"type": "string", "logicalType": "uuid"}, st.uuids()),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 3},
        st.integers(-(10**20) + 1, 10**20 - 1).map(lambda n: Decimal(n).scaleb(-3)),
    ),
]


class Drawing:
    """Draws schemas with unique names."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._names = 0

    def case(self, depth: int) -> Case:
        kinds = ["scalar"] * 3 + ["enum", "fixed"]
        kinds += ["array", "map", "optional", "record", "record"] if depth else []
        kind = self._draw(st.sampled_from(kinds))
        return getattr(self, f"_{kind}")(depth - 1)  # type: ignore[no-any-return]  # one of these

    def _name(self) -> str:
        self._names += 1
        return f"T{self._names}"

    def _scalar(self, _: int) -> Case:
        return self._draw(st.sampled_from(SCALARS))

    def _enum(self, _: int) -> Case:
        symbols = ["A", "B", "C"]
        return {"type": "enum", "name": self._name(), "symbols": symbols}, st.sampled_from(symbols)

    def _fixed(self, _: int) -> Case:
        size = self._draw(st.integers(1, 20))
        schema = {"type": "fixed", "name": self._name(), "size": size}
        return schema, st.binary(min_size=size, max_size=size)

    def _array(self, depth: int) -> Case:
        schema, values = self._some_bytes(depth)
        return {"type": "array", "items": schema}, st.lists(values, max_size=4)

    def _map(self, depth: int) -> Case:
        schema, values = self.case(depth)
        contents = st.dictionaries(st.text(LETTERS, max_size=3), values, max_size=3)
        return {"type": "map", "values": schema}, contents.map(lambda d: dict(sorted(d.items())))

    def _optional(self, depth: int) -> Case:
        schema, values = self._some_bytes(depth)
        if isinstance(schema, list):
            return schema, values
        return self._draw(st.permutations(["null", schema])), st.none() | values

    def _record(self, depth: int) -> Case:
        cases = [self.case(depth) for _ in range(self._draw(st.integers(1, 4)))]
        fields = [{"name": f"f{n}", "type": schema} for n, (schema, _) in enumerate(cases)]
        values = st.fixed_dictionaries({f"f{n}": values for n, (_, values) in enumerate(cases)})
        return {"type": "record", "name": self._name(), "fields": fields}, values

    def _some_bytes(self, depth: int) -> Case:
        """Return a type whose values take bytes, as items of arrays must."""
        found = self.case(depth)
        return found if least(found[0]) else ("long", LONGS)


def least(schema: Any) -> bool:
    if isinstance(schema, dict) and schema["type"] == "record":
        return any(least(field["type"]) for field in schema["fields"])
    return bool(schema != "null")


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, list[Any]]:
    schema, values = Drawing(draw).case(3)
    return schema, draw(st.lists(values, min_size=1, max_size=6))


def by_fastavro(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


@settings(max_examples=150, deadline=None)
@given(cases())
def test_values_of_random_schemas_equal_fastavro_in_columns_and_singly(
    case: tuple[Any, list[Any]],
) -> None:
    schema, values = case
    parsed = fastavro.parse_schema(schema)
    serde = avro_serde(schema=schema)
    data = [serde.serialize(value) for value in values]

    assert data == [by_fastavro(parsed, value) for value in values]
    assert [serde.deserialize(each) for each in data] == values
    assert [fastavro.schemaless_reader(io.BytesIO(each), parsed, None) for each in data] == values
    some = [*data, None] * 9
    column = pa.array(some, pa.binary())
    assert serde.serialize_many([*values, None]).to_pylist() == [
        None if value is None else each
        for each, value in zip([*data, None], [*values, None], strict=True)
    ]
    if serde.arrow_type != pa.null():
        assert serde.deserialize_many(column) == [*values, None] * 9
    assert serde.arrow_type != pa.binary() or schema == "bytes" or lacks_columns(schema)
    assert serde.to_arrow(column.slice(1)).type == serde.arrow_type


def lacks_columns(schema: Any) -> bool:
    return bool(schema == {"type": "bytes"})


@settings(max_examples=150, deadline=None)
@given(cases(), st.data())
def test_generated_and_generic_readers_agree_on_damaged_bytes(
    case: tuple[Any, list[Any]], drawn: st.DataObject
) -> None:
    schema, values = case
    serde = avro_serde(schema=schema)
    good = serde.serialize(values[0])
    bad = bytearray(good + drawn.draw(st.binary(max_size=2)))
    for place in drawn.draw(st.lists(st.integers(0, len(bad) - 1), max_size=3)) if bad else ():
        bad[place] = drawn.draw(st.sampled_from([0, 1, 2, 3, 0x7F, 0x80, 0xFF]))
    data = bytes(bad[: drawn.draw(st.integers(0, len(bad)))])
    column = pa.array([good] * 20 + [data], pa.binary())

    found = outcome(lambda: [serde.deserialize(good)] * 20 + [serde.deserialize(data)])

    assert outcome(lambda: serde.deserialize_many(column)) == found
    if serde.arrow_type != pa.binary():
        columns = outcome(lambda: serde.to_arrow(column).to_pylist())
        assert (type(columns) is str) == (type(found) is str)


def outcome(read: Callable[[], Any]) -> str | list[str]:
    """Return the values as text, because NaN equals nothing, or the error's text."""
    try:
        return [repr(each) for each in read()]
    except DeserializationError as exc:
        return str(exc)


PROMOTED: list[tuple[Any, Any, st.SearchStrategy[Any]]] = [
    ("int", "long", INTS),
    ("int", "float", INTS),
    ("int", "double", INTS),
    ("long", "float", LONGS),
    ("long", "double", LONGS),
    ("float", "double", st.floats(width=32, allow_nan=False)),
    ("string", "bytes", st.text(LETTERS, max_size=4)),
    ("bytes", "string", st.text(LETTERS, max_size=4).map(str.encode)),
    ("int", ["null", "long"], INTS),
    (["null", "int"], ["long", "null"], st.none() | INTS),
    (["int", "long"], "double", INTS | LONGS),
    ("null", ["null", "long"], st.none()),
    ({"type": "array", "items": "int"}, {"type": "array", "items": "double"}, st.lists(INTS)),
]


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(PROMOTED), st.data())
def test_values_promoted_to_wider_types_are_equal_in_columns_and_singly(
    case: tuple[Any, Any, st.SearchStrategy[Any]], drawn: st.DataObject
) -> None:
    written, read, strategy = case
    values = drawn.draw(st.lists(strategy, min_size=1, max_size=5)) * 5
    writer, reader = ({"type": "record", "name": "R", "fields": [
        {"name": "gone", "type": {"type": "map", "values": ["null", "string", "int"]}},
        {"name": "f", "type": kind}]} for kind in (written, read))  # fmt: skip
    reader["fields"][0] = {"name": "new", "type": ["null", "int"], "default": None}  # type: ignore[index]  # a list
    source, target = avro_serde(schema=writer), avro_serde(schema=reader)
    column = source.serialize_many(
        [{"gone": {"a": None, "b": "x", "c": 1}, "f": value} for value in values]
    )
    found = target.reading(source.schema)

    singly = [found.deserialize(each) for each in column.to_pylist()]
    assert found.deserialize_many(column) == singly
    assert found.to_arrow(column).type == target.arrow_type
    assert found.to_arrow(column).to_pylist() == singly
    assert [each["new"] for each in singly] == [None] * len(values)
    for value, each in zip(values, singly, strict=True):
        if isinstance(value, (int, type(None))) and "float" not in str(read):
            assert each["f"] == value or each["f"] == float(value or 0)
        assert not (isinstance(each["f"], float) and math.isnan(each["f"]))
    assert avro_schema(target.schema.text) == target.schema
