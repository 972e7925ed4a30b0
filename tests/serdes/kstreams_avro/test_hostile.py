"""Hostile bytes are read or refused, at a cost in proportion to their size."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from kstreams import Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams_avro import avro_schema, avro_serde
from kstreams_avro.varints import put_long


def number(value: int) -> bytes:
    out = bytearray()
    put_long(out, value)
    return bytes(out)


class Order(msgspec.Struct):
    id: int
    item: str
    note: str | None = None
    tags: list[str] = []
    counts: dict[str, int] = {}


@dataclass
class Tree:
    value: int
    children: list[Tree] = field(default_factory=list)


class Chain(msgspec.Struct):
    next: Chain | None = None


GOOD = Order(1, "tea", "hot", ["a", "b"], {"k": 1})
HEAD = b"\x02\x06tea"
HUGE = number(2**62)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "field 'id': the data is cut short"),
        (b"\x02", "field 'item': the data is cut short"),
        (b"\x02\x06te", "field 'item': expected a length of 0 to 2 bytes, got 3"),
        (b"\x02" + number(-3) + b"tea", "field 'item': expected a length of 0 to 3 bytes, got -3"),
        (b"\x02" + HUGE + b"tea", "field 'item': expected a length of 0 to 3 bytes, got 461168"),
        (b"\x02\x02\xff", "field 'item': a text is not UTF-8"),
        (b"\xff" * 11 + b"\x01", "field 'id': a number has more than 10 bytes"),
        (b"\xff" * 9 + b"\x02", "field 'id': a number has more than 64 bits"),
        (HEAD + b"\x04", "field 'note': expected a.* index of 0 to 1, got 2"),
        (HEAD + b"\x01", "field 'note': expected a.* index of 0 to 1, got -1"),
        (HEAD + b"\x00" + HUGE, "field 'tags': a block has 4611686018427387904 items"),
        (HEAD + b"\x00" + number(-(2**63)), "field 'tags': "),
        (
            HEAD + b"\x00" + number(-1) + HUGE + b"\x02a",
            "field 'tags': expected a block size of 0 to 2 bytes, got 461168",
        ),
        (
            HEAD + b"\x00" + number(-1) + number(-1) + b"\x02a",
            "field 'tags': expected a block size of 0 to 2 bytes, got -1",
        ),
        (HEAD + b"\x00\x04\x02a\x04b", "field 'tags.1.': expected a length of 0 to 1 bytes, got 2"),
        (HEAD + b"\x00\x02\x02a", "field 'tags': the data is cut short"),
        (HEAD + b"\x00\x00\x02\x02k", "counts.'k'.*: the data is cut short"),
        (HEAD + b"\x00\x00\x00\x00", "1 bytes are left over"),
        (b"\x00\x00\x00\x00\x05" + HEAD, "field 'counts': a block has 3 items"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.hex(),
)
def test_bad_avro_bytes_raise_error_that_names_field(data: bytes, text: str) -> None:
    serde = avro_serde(Order)
    with pytest.raises(DeserializationError, match=rf"expected avro\[Order#\w+\]: .*({text})"):
        serde.deserialize(data)
    column = pa.array([serde.serialize(GOOD), None] * 20 + [data], pa.binary())
    for read in (serde.deserialize_many, serde.to_arrow):
        with pytest.raises(DeserializationError, match=text):
            read(column)
    with pytest.raises(DeserializationError, match=text):
        serde.field(column, "id", pa.int64())


@pytest.mark.parametrize(
    ("schema", "data", "text"),
    [
        ('"boolean"', b"\x02", "byte of a boolean, got 2"),
        ('"int"', number(2**31), "more than 32 bits"),
        (
            '{"type":"enum","name":"E","symbols":["A","B"]}',
            b"\x01",
            "expected an enum index of 0 to 1, got -1",
        ),
        (
            '{"type":"enum","name":"E","symbols":["A","B"]}',
            b"\x04",
            "expected an enum index of 0 to 1, got 2",
        ),
        ('{"type":"fixed","name":"F","size":3}', b"ab", "cut short"),
        ('"double"', b"1234567", "cut short"),
        ('{"type":"int","logicalType":"date"}', number(2**31 - 1), "is not a date of the years"),
        (
            '{"type":"long","logicalType":"time-micros"}',
            number(-1),
            "expected a time of day",
        ),
        ('{"type":"long","logicalType":"timestamp-millis"}', HUGE, "of the years 1 to 9999"),
        ('{"type":"string","logicalType":"uuid"}', b"\x04ab", "is not a UUID"),
        (
            '{"type":"string","logicalType":"uuid"}',
            number(37) + b"00112233-4455-6677-8899-aabbccddeeff\n",
            "is not a UUID",
        ),
        (
            '{"type":"bytes","logicalType":"decimal","precision":2}',
            b"\x02\x64",
            "not a decimal of 2",
        ),
        ('{"type":"bytes","logicalType":"decimal","precision":2}', b"\x00", "not a decimal of 2"),
    ],
)
def test_bad_avro_scalars_are_refused_singly_and_in_columns(
    schema: str, data: bytes, text: str
) -> None:
    serde = avro_serde(schema=schema)
    with pytest.raises(DeserializationError, match=text):
        serde.deserialize(data)
    with pytest.raises(DeserializationError, match=text):
        serde.deserialize_many(pa.array([None, data] * 20, pa.binary()))
    with pytest.raises(DeserializationError, match=text):
        serde.to_arrow(pa.array([None, data], pa.binary()))


def test_decimal_padded_with_many_bytes_is_read() -> None:
    schema = '{"type":"bytes","logicalType":"decimal","precision":2}'
    serde: Any = avro_serde(schema=schema)
    column = pa.array([number(20) + bytes(19) + b"\x07", b"\x02\xff"] * 20, pa.binary())
    assert serde.deserialize_many(column) == [7, -1] * 20
    assert serde.to_arrow(column).to_pylist() == [7, -1] * 20


@pytest.mark.parametrize("count", [127, 128, 129, 300_000])
def test_nesting_limit_is_the_same_for_reading_and_writing(count: int) -> None:
    serde = avro_serde(Chain)
    data = b"\x02" * count + b"\x00"
    if count < 128:
        value = serde.deserialize(data)
        assert serde.serialize(value) == data
        with pytest.raises(SerializationError, match="more than 128 records"):
            serde.serialize(Chain(Chain(value)))
    else:
        with pytest.raises(DeserializationError, match="more than 128 records"):
            serde.deserialize(data)


def test_nesting_limit_applies_to_lists_of_trees() -> None:
    serde = avro_serde(Tree)
    with pytest.raises(DeserializationError, match="more than 128 records"):
        serde.deserialize(b"\x02\x02" * 100_000)


def test_value_that_contains_itself_is_refused() -> None:
    chain = Chain()
    chain.next = chain
    with pytest.raises(SerializationError, match="more than 128 records"):
        avro_serde(Chain).serialize(chain)


@pytest.mark.parametrize(
    "items",
    [
        '"null"',
        '{"type":"record","name":"E","fields":[]}',
        '{"type":"record","name":"E","fields":[{"name":"n","type":"null"}]}',
    ],
)
def test_schema_of_array_with_zero_byte_items_is_refused(items: str) -> None:
    schema = f'{{"type":"array","items":{items}}}'
    with pytest.raises(ValueError, match="its length would be unlimited"):
        avro_serde(schema=schema)
    writer = f'{{"type":"record","name":"R","fields":[{{"name":"gone","type":{schema}}}]}}'
    reader = avro_serde(schema='{"type":"record","name":"R","fields":[]}')
    with pytest.raises(ValueError, match="field 'gone': an array whose items take no bytes"):
        reader.reading(avro_schema(writer))


def test_schema_of_endlessly_recursive_record_is_refused() -> None:
    schema = '{"type":"record","name":"R","fields":[{"name":"r","type":"R"}]}'
    with pytest.raises(ValueError, match="record R contains itself without end"):
        avro_serde(schema=schema)


def test_long_list_among_short_ones_is_read_in_linear_time() -> None:
    """Columns read the n-th items of all rows at once, but not when only one row has items left."""
    serde = avro_serde(Order)
    values = [GOOD] * 200 + [Order(2, "x", None, ["t"] * 50_000, {"a": 1, "b": 2})] + [GOOD] * 200
    column = serde.serialize_many(values)

    begun = time.process_time()
    assert serde.to_arrow(column).field("tags").to_pylist() == [value.tags for value in values]
    assert time.process_time() - begun < 5

    assert serde.deserialize_many(column) == values
    assert serde.field(column, "id", pa.int64()).to_pylist() == [value.id for value in values]
    cut = pa.array([*column.to_pylist(), column[200].as_py()[:-9]], pa.binary())
    with pytest.raises(DeserializationError, match="field 'tags': the data is cut short"):
        serde.to_arrow(cut)


def test_few_rows_with_nested_lists_among_many_are_read() -> None:
    """Items of many rows are read at once; the items of a single long row are read separately."""
    serde: Serde[Any] = avro_serde(list[list[list[int]]])
    values: list[Any] = [[[[row]] * (1 + row % 3)] for row in range(2000)]
    values[7] = [[[1, 2, 3]] * 20] * 500
    values[9] = [[]] * 20_000
    column = serde.serialize_many(values)

    begun = time.process_time()
    assert serde.deserialize_many(column) == values
    assert serde.to_arrow(column).to_pylist() == values
    assert time.process_time() - begun < 10


def test_unhashable_items_of_set_raise_deserialization_error() -> None:
    serde: Serde[Any] = avro_serde(frozenset[list[int]])
    with pytest.raises(DeserializationError, match="unhashable"):
        serde.deserialize(b"\x02\x00\x00")
