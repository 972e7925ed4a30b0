"""Other writers' schemas: BACKWARD and FORWARD pairs, and schemas that cannot be resolved."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from kstreams import Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import Schema, SchemaReference
from kstreams_avro import avro_schema, avro_serde


@dataclass
class OrderV1:
    id: int
    item: str


@dataclass
class OrderV2:
    id: int
    item: str
    tags: list[str] = field(default_factory=list)
    note: str | None = None


class OrderV3(msgspec.Struct):
    item: str
    cents: int = 100


class Item(msgspec.Struct):
    x: int


class Order(msgspec.Struct):
    first: Item


def named(type_: Any, name: str = "Order") -> Schema:
    schema = json.loads(avro_serde(type_).schema.text)
    return avro_schema({**schema, "name": name})


V1, V2, V3 = named(OrderV1), named(OrderV2), named(OrderV3)


def serde_of(type_: Any, schema: Schema) -> Any:
    return avro_serde(type_, schema=schema.text)


@pytest.mark.parametrize(
    ("writer", "reader", "written", "read"),
    [
        pytest.param((OrderV1, V1), (OrderV2, V2), OrderV1(1, "a"), OrderV2(1, "a"), id="backward"),
        pytest.param(
            (OrderV2, V2), (OrderV1, V1), OrderV2(1, "a", ["x"], "n"), OrderV1(1, "a"), id="forward"
        ),
        pytest.param((OrderV2, V2), (OrderV3, V3), OrderV2(1, "a"), OrderV3("a"), id="both"),
        pytest.param((OrderV3, V3), (OrderV3, V3), OrderV3("a", 1), OrderV3("a", 1), id="same"),
    ],
)
def test_older_and_newer_avro_schemas_read_each_others_data(
    writer: Any, reader: Any, written: Any, read: Any
) -> None:
    source, target = serde_of(*writer), serde_of(*reader)
    found = target.reading(source.schema)
    column = source.serialize_many([written, None] * 10)

    assert found.deserialize(source.serialize(written)) == read
    assert found.deserialize_many(column) == [read, None] * 10
    assert found.to_arrow(column).equals(target.to_arrow(target.serialize_many([read, None] * 10)))
    again = target.serialize_many([read, None] * 10)
    assert target.rewritten(column, found).to_pylist() == again.to_pylist()
    assert pickle.loads(pickle.dumps(found)) == found


def test_mutable_default_values_are_not_shared_between_objects() -> None:
    reader = serde_of(OrderV2, V2).reading(V1)
    data = serde_of(OrderV1, V1).serialize(OrderV1(1, "a"))
    one, other = reader.deserialize(data), reader.deserialize(data)
    one.tags.append("x")
    assert other.tags == []
    first, second = reader.deserialize_many(pa.array([data] * 20, pa.binary()))[:2]
    first.tags.append("x")
    assert second.tags == []


def test_schema_with_the_same_encoding_is_read_by_the_serde_itself() -> None:
    serde = serde_of(OrderV2, V2)
    schema = json.loads(V2.text)
    schema["doc"] = "new"
    schema["fields"][0]["default"] = 7
    assert serde.reading(avro_schema(schema)) is serde
    schema["fields"][0]["type"] = "int"
    assert serde.reading(avro_schema(schema)) is not serde


def test_serde_of_an_older_schema_refuses_to_serialize() -> None:
    reader = serde_of(OrderV2, V2).reading(V1)
    with pytest.raises(SerializationError, match="only reads data of another schema"):
        reader.serialize(OrderV2(1, "a"))
    assert reader.name == f"avro[Order#{V2.fingerprint}<{V1.fingerprint}]"


def record(*fields: Any, name: str = "Order", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def f(name: str, type_: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, **more}


def enum(*symbols: str, **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "E", "symbols": list(symbols), **more}


@pytest.mark.parametrize(
    ("writer", "reader", "text"),
    [
        (record(), record(f("a", "int")), "field 'a': the writer's schema lacks the field"),
        (
            record(f("a", "string")),
            record(f("a", "int")),
            "field 'a': written as string, which cannot be read as int",
        ),
        (record(f("a", "long")), record(f("a", "int")), "field 'a': written as long"),
        (
            record(f("i", record(f("b", "int"), name="I"))),
            record(f("i", record(f("b", "boolean"), name="I"))),
            "field 'i.b': written as int, which cannot be read as boolean",
        ),
        (
            record(f("l", {"type": "array", "items": "string"})),
            record(f("l", {"type": "array", "items": "int"})),
            r"field 'l\[\]': written as string",
        ),
        (
            record(f("m", {"type": "map", "values": "string"})),
            record(f("m", {"type": "map", "values": "int"})),
            r"field 'm\[\]': written as string",
        ),
        (record(f("e", enum("A"))), record(f("e", enum("B"))), "field 'e': no symbol of enum E"),
        (record(f("u", ["null", "string"])), record(f("u", ["null", "int"])), "field 'u': written"),
        (record(f("u", "string")), record(f("u", ["null", "int"])), "field 'u': written as string"),
        (record(name="Other"), record(), "written as record Other, which cannot be read as record"),
        (
            record(f("x", {"type": "fixed", "name": "F", "size": 2})),
            record(f("x", {"type": "fixed", "name": "F", "size": 3})),
            "field 'x': written as fixed F",
        ),
    ],
)
def test_unresolvable_schema_is_refused_with_the_field(writer: Any, reader: Any, text: str) -> None:
    serde = avro_serde(schema=reader)
    with pytest.raises(ValueError, match=rf"avro\[Order#\w+<\w+\]: {text}"):
        serde.reading(avro_schema(writer))


def read_each(reader: Any, writer: Any, *values: Any) -> list[Any]:
    """Read values that one schema has written by another, singly and in columns, with equal
    results.
    """
    source = avro_serde(schema=writer)
    found = avro_serde(schema=reader).reading(source.schema)
    column = source.serialize_many(values)
    singly = [found.deserialize(each) for each in column.to_pylist()]
    assert found.deserialize_many(pa.concat_arrays([column] * 20)) == singly * 20
    return singly


def test_renamed_types_and_fields_are_found_by_aliases() -> None:
    writer = record(f("a", "int"), f("e", enum("A")), name="old.Order")
    inner = {**enum("A", aliases=["old.E"]), "name": "F"}
    reader = record(
        f("b", "int", aliases=["a"]), f("e", inner), name="new.Thing", aliases=["old.Order"]
    )
    assert read_each(reader, writer, {"a": 1, "e": "A"}) == [{"b": 1, "e": "A"}]


def test_namespace_is_ignored_in_schema_resolution() -> None:
    assert read_each(record(f("a", "int")), record(f("a", "int"), name="x.Order"), {"a": 1}) == [
        {"a": 1}
    ]


def test_unknown_enum_symbol_becomes_the_default_or_is_refused() -> None:
    writer, data = avro_schema(enum("A", "B")), b"\x02"
    known: Serde[Any] = avro_serde(schema=enum("A", "X", default="X")).reading(writer)
    assert known.deserialize(data) == "X"
    assert known.deserialize_many(pa.array([data, b"\x00"] * 10, pa.binary())) == ["X", "A"] * 10
    unknown: Serde[Any] = avro_serde(schema=enum("A")).reading(writer)
    assert unknown.deserialize(b"\x00") == "A"
    with pytest.raises(DeserializationError, match="the reader's enum has no symbol 'B'"):
        unknown.deserialize(data)
    with pytest.raises(DeserializationError, match="the reader's enum has no symbol 'B'"):
        unknown.deserialize_many(pa.array([b"\x00"] * 20 + [data], pa.binary()))


def test_unknown_union_branch_fails_only_values_that_use_it() -> None:
    writer = record(f("u", ["null", "int"]))
    source = avro_serde(schema=writer)
    found = avro_serde(schema=record(f("u", "long"))).reading(source.schema)
    good, bad = source.serialize({"u": 1}), source.serialize({"u": None})
    assert found.deserialize_many(pa.array([good] * 20, pa.binary())) == [{"u": 1}] * 20
    with pytest.raises(DeserializationError, match="field 'u': written as null"):
        found.deserialize(bad)
    with pytest.raises(DeserializationError, match="field 'u': written as null"):
        found.to_arrow(pa.array([good, bad], pa.binary()))


def test_best_matching_of_several_union_branches_is_chosen() -> None:
    reader = record(f("u", ["double", "long", "null", "string"]))
    assert read_each(reader, record(f("u", "int")), {"u": 1}) == [{"u": 1.0}]
    assert read_each(reader, record(f("u", "long")), {"u": 2**62}) == [{"u": 2**62}]
    assert read_each(reader, record(f("u", ["string", "long"])), {"u": "x"}, {"u": 1}) == [
        {"u": "x"},
        {"u": 1},
    ]


def test_records_of_avro_union_are_distinguished_by_name() -> None:
    a, b = record(f("x", "int"), name="n.A"), record(f("x", "int"), name="n.B")
    serde = avro_serde(schema=[a, b])
    for value in (("n.A", {"x": 1}), ("n.B", {"x": 1})):
        assert serde.deserialize(serde.serialize(value)) == value
    with pytest.raises(SerializationError, match="expected one of union"):
        serde.serialize(("n.C", {"x": 1}))
    bigger = avro_serde(schema=["null", record(f("x", "long"), name="n.B"), a])
    assert bigger.reading(serde.schema).deserialize(serde.serialize(("n.B", {"x": 1}))) == (
        "n.B",
        {"x": 1},
    )


def test_recursive_record_is_read_by_another_recursive_record() -> None:
    tree = {"type": "array", "items": "Order"}
    writer = record(f("v", "int"), f("gone", "string"), f("c", tree))
    reader = record(f("c", tree), f("v", "long"), f("n", "string", default="?"))
    value = {"v": 1, "gone": "", "c": [{"v": 2, "gone": "x", "c": []}]}
    read = {"c": [{"c": [], "v": 2, "n": "?"}], "v": 1, "n": "?"}
    assert read_each(reader, writer, value) == [read]
    source, target = avro_serde(schema=writer), avro_serde(schema=reader)
    data = source.serialize_many([value, None])
    assert target.rewritten(data, target.reading(source.schema)).to_pylist() == [
        target.serialize(read),
        None,
    ]


def test_referenced_schemas_are_parsed_first() -> None:
    item = avro_schema(record(f("x", "int"), name="shop.Item"))
    box = Schema(
        "AVRO",
        json.dumps(record(f("item", "shop.Item"), name="shop.Box")),
        "shop.Box",
        references=(SchemaReference("shop.Item", item),),
    )
    order = Schema(
        "AVRO",
        json.dumps(record(f("box", "shop.Box"), f("first", "shop.Item"), name="shop.Order")),
        "shop.Order",
        references=(SchemaReference("shop.Item", item), SchemaReference("shop.Box", box)),
    )

    serde = avro_serde(Order)
    assert serde.reading(order).deserialize(b"\x02\x04") == Order(Item(2))
    with pytest.raises(ValueError, match=r"no type is called 'shop\.Item'"):
        serde.reading(Schema("AVRO", box.text))
    with pytest.raises(ValueError, match="expected an Avro schema, got one of kind JSON"):
        serde.reading(Schema("JSON", "{}"))


def test_union_branch_that_does_not_match_does_not_prevent_next_branch() -> None:
    """Work for a branch that fails is discarded and done again for the next one."""
    inner = record(f("x", "string"), f("o", ["null", "W"]), name="a.W")
    good = record(f("x", "string"), f("o", ["null", "W"]), name="b.W")
    bad = record(f("o", ["null", "W"]), f("x", "int"), name="c.W")
    value = {"x": "1", "o": {"x": "2", "o": None}}
    for branches in ([bad, good], [good, bad], ["null", bad, good]):
        writer = avro_serde(schema=inner)
        reader = avro_serde(schema=branches).reading(writer.schema)
        assert reader.deserialize(writer.serialize(value)) == ("b.W", value)
    with pytest.raises(ValueError, match=r"written as record a\.W, which cannot be read as union"):
        avro_serde(schema=["null", bad]).reading(avro_schema(inner))


@pytest.mark.parametrize("depth", [300, 3000, 200_000])
def test_too_deep_schema_is_refused(depth: int) -> None:
    schema = '{"type":"array","items":' * depth + '"string"' + "}" * depth
    with pytest.raises(ValueError, match=r"deep|recursion|which cannot be read as long"):
        avro_serde(int).reading(Schema("AVRO", schema))
    if depth > 300:
        with pytest.raises(ValueError, match=r"deep|recursion"):
            avro_serde(schema=schema)
