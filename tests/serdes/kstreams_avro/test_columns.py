"""Columns of Avro values: types, fields, and windows that read fields."""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa
import pytest

from kstreams import DOUBLE, INT64, TEXT, Serde, Topic, TopologyBuilder
from kstreams.aggregators import field, over, sum_
from kstreams.durations import seconds
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import Schema
from kstreams.stores import window_store
from kstreams.testing import TopologyTestDriver
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate
from kstreams_avro import avro_schema, avro_serde


class Order(msgspec.Struct, rename="camel"):
    unit_price: float
    count: int
    note: str | None = None
    express: bool = False


class Old(msgspec.Struct, rename="camel"):
    count: int
    unit_price: float


ORDERS = [Order(number / 4, number, None if number % 3 else "x") for number in range(40)]


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ('"int"', pa.int32()),
        ('["null","float"]', pa.float32()),
        ('{"type":"array","items":["null","int"]}', pa.list_(pa.int32())),
        ('{"type":"map","values":"string"}', pa.map_(pa.string(), pa.string())),
        ('{"type":"fixed","name":"F","size":3}', pa.binary(3)),
        ('{"type":"enum","name":"E","symbols":["A"]}', pa.string()),
        ('{"type":"long","logicalType":"timestamp-millis"}', pa.timestamp("ms", "UTC")),
        ('{"type":"long","logicalType":"local-timestamp-micros"}', pa.timestamp("us")),
        ('{"type":"long","logicalType":"of-my-own"}', pa.int64()),
        ('{"type":"string","logicalType":"date"}', pa.string()),
        ('{"type":"bytes","logicalType":"decimal","precision":38}', pa.decimal128(38)),
        ('{"type":"bytes","logicalType":"decimal","precision":39}', pa.binary()),
        ('["int","string"]', pa.binary()),
        ('{"type":"array","items":["int","string"]}', pa.binary()),
        (
            '{"type":"record","name":"R","fields":[{"name":"r","type":["null","R"]}]}',
            pa.binary(),
        ),
        ('{"type":"record","name":"R","fields":[]}', pa.struct([])),
    ],
)
def test_avro_columns_have_types_of_schema(schema: str, kind: pa.DataType) -> None:
    assert avro_serde(schema=schema).arrow_type == kind


def test_field_is_found_by_the_name_of_attribute_or_column() -> None:
    serde = avro_serde(Order)
    data = serde.serialize_many([*ORDERS, None])
    expected = [*(order.unit_price for order in ORDERS), None]
    for column in (data, serde.to_arrow(data)):
        assert serde.field(column, "unit_price", pa.float64()).to_pylist() == expected
        assert serde.field(column, "unitPrice", pa.float64()).to_pylist() == expected
        counts = serde.field(column, "count", pa.int32())
        assert counts.to_pylist() == [*(order.count for order in ORDERS), None]
        assert counts.type == pa.int32()
        with pytest.raises(DeserializationError, match="field 'unit_price' of avro"):
            serde.field(column, "unit_price", pa.int64())
        with pytest.raises(DeserializationError, match="field 'express' of avro"):
            serde.field(column, "express", pa.int64())


def test_field_of_unknown_name_raises_error() -> None:
    serde = avro_serde(Order)
    data = serde.serialize_many(ORDERS)
    for column in (data, serde.to_arrow(data)):
        with pytest.raises((KeyError, AttributeError), match="unknown"):
            serde.field(column, "unknown", pa.int64())


def test_field_of_values_without_columns_is_read_from_objects() -> None:
    schema = {"type": "record", "name": "R", "fields": [
        {"name": "u", "type": ["int", "string"]}, {"name": "n", "type": "int"}]}  # fmt: skip
    serde = avro_serde(schema=schema)
    data = serde.serialize_many([{"u": "x", "n": 1}, None, {"u": 2, "n": 3}])
    assert serde.field(data, "n", pa.int64()).to_pylist() == [1, None, 3]
    assert serde.to_arrow(data) is data


def test_field_is_read_when_other_fields_cannot_be_columns() -> None:
    writer = {"type": "record", "name": "Old", "fields": [
        {"name": "x", "type": {"type": "map", "values": ["int", "string", "null"]}},
        {"name": "count", "type": "int"}, {"name": "unitPrice", "type": "float"}]}  # fmt: skip
    source = avro_serde(schema=writer)
    data = source.serialize_many([{"x": {"a": 1, "b": "c"}, "count": 7, "unitPrice": 0.5}] * 20)
    reader = avro_serde(Old).reading(source.schema)
    assert reader.deserialize_many(data) == [Old(7, 0.5)] * 20
    assert reader.field(data, "count", pa.int64()).to_pylist() == [7] * 20


def test_sliced_arrays_and_nulls_keep_their_positions() -> None:
    serde = avro_serde(Order)
    values: list[Order | None] = [None, *ORDERS, None, ORDERS[0]]
    data = serde.serialize_many(values)
    for start, length in ((0, 43), (1, 40), (5, 20), (40, 3), (7, 0)):
        part = data.slice(start, length)
        assert serde.deserialize_many(part) == values[start : start + length]
        assert serde.from_arrow(serde.to_arrow(part)).equals(part)
    chunk = serde.to_arrow(data).slice(3, 30)
    assert serde.from_arrow(chunk).equals(data.slice(3, 30))


def test_avro_from_arrow_refuses_columns_of_another_type() -> None:
    serde = avro_serde(Order)
    column = pa.array([{"unitPrice": 1.0, "count": None, "note": None, "express": True}])
    with pytest.raises(SerializationError, match="count"):
        serde.from_arrow(column.cast(serde.arrow_type))
    assert serde.from_arrow(pa.nulls(2)).to_pylist() == [None, None]


def test_values_of_several_writer_schemas_give_one_column() -> None:
    """Rows are grouped by schema, read by group, and put back in order, with one type for all."""
    new, old = avro_serde(Order), avro_serde(Old)
    schema = avro_schema(old.schema.text.replace('"Old"', '"Order"'))
    writers: list[tuple[Schema, Serde[Any], list[int]]] = [
        (new.schema, new, [0, 2, 3]),
        (schema, old, [1, 4]),
    ]
    parts, rows = [], []
    for writer, serde, places in writers:
        values = [
            Order(place / 2, place) if serde is new else Old(place, place / 2) for place in places
        ]
        reader = new.reading(writer) if serde is new else Reader(writer)
        parts.append(reader.to_arrow(serde.serialize_many(values)))
        rows += places
    order = sorted(range(len(rows)), key=rows.__getitem__)
    together = pa.concat_arrays(parts).take(pa.array(order))
    assert together.field("count").to_pylist() == [0, 1, 2, 3, 4]
    assert together.field("unitPrice").to_pylist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert new.from_arrow(together).to_pylist() == [
        new.serialize(Order(place / 2, place)) for place in range(5)
    ]


def Reader(writer: Schema) -> Serde[Any]:  # noqa: N802  # reads like a class
    return avro_serde(Order).reading(writer)


@pytest.mark.parametrize("execution", ["columns", "records"])
def test_windows_aggregate_field_of_avro_values_by_columns(execution: Any) -> None:
    windows = TumblingWindows(seconds(10))
    topic = Topic("orders", key=TEXT, value=avro_serde(Order))
    sums = Topic("sums", key=windowed(TEXT, windows), value=DOUBLE)
    builder = TopologyBuilder("sums")
    price = over(field("unit_price", DOUBLE), sum_(DOUBLE))
    store = window_store("sums", key=TEXT, value=DOUBLE)
    summed = windowed_aggregate(windows, price, store=store, execution=execution)
    source = builder.add_source("in", topic)
    builder.add_sink("out", sums, builder.add_processor("sum", summed, source))

    with TopologyTestDriver(builder.build()) as driver:
        for number, order in enumerate(ORDERS):
            driver.pipe(topic, "k", order, timestamp=number * 1000)
        found = {each.key.start_ms: each.value for each in driver.read(sums)}

    assert found == {
        start * 1000: sum(order.unit_price for order in ORDERS[start : start + 10])
        for start in range(0, 40, 10)
    }


def test_integer_field_of_64_bits_is_read_unchanged_by_columns() -> None:
    serde = avro_serde(Order)
    column = serde.serialize_many([Order(0.0, 2**62)])
    assert serde.field(column, "count", INT64.arrow_type).to_pylist() == [2**62]


def test_column_of_lists_with_null_items_writes_the_bytes_of_single_values() -> None:
    serde: Serde[Any] = avro_serde(list[int | None])
    values = [[None], [1, None, -1], [], [None, None]]
    column = serde.serialize_many(values)

    assert serde.from_arrow(serde.to_arrow(column)).to_pylist() == column.to_pylist()
