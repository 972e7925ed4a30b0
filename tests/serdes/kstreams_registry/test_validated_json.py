"""JSON with a schema: derived from a type, or given."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import Schema
from kstreams_json import json_serde
from kstreams_registry import json_schema


@dataclass(frozen=True)
class Order:
    """An order."""

    item: str
    count: int = 1
    notes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Tree:
    name: str
    under: list[Tree] = field(default_factory=list)


SERDE = json_schema(json_serde(Order))
BOUNDED = json_schema(
    json_serde(Order),
    {"type": "object", "properties": {"count": {"type": "integer", "minimum": 1}}},
)


def test_json_schema_is_derived_from_type() -> None:
    schema = json.loads(SERDE.schema.text)
    assert schema["title"] == SERDE.schema.record_name == "Order"
    assert schema["required"] == ["item"]
    assert "description" not in schema
    assert SERDE.schema.fingerprint in SERDE.name
    assert json_schema(json_serde(Order)).schema == SERDE.schema


def test_json_schema_of_recursive_type_is_supported() -> None:
    trees = json_schema(json_serde(Tree))
    tree = Tree("a", [Tree("b")])
    assert trees.deserialize(trees.serialize(tree)) == tree


def test_json_schema_of_type_with_field_named_description_keeps_it() -> None:
    text = '{"properties": {"description": {"type": "string", "description": "d"}}}'
    found = json_schema(json_serde(Order), text).schema.text
    assert found == '{"properties":{"description":{"type":"string"}}}'


def test_validated_json_values_are_written_like_by_inner_serde() -> None:
    orders = [Order("tea", 2), None, Order("salt", notes={"a": "b"})]
    data = SERDE.serialize_many(orders)
    assert data == json_serde(Order).serialize_many(orders)
    assert SERDE.deserialize_many(data) == orders
    assert SERDE.deserialize(data[0].as_py()) == orders[0]
    assert SERDE.to_arrow(data) == data
    assert SERDE.from_arrow(data) == data
    assert SERDE.field(data, "count", pa.int64()).to_pylist() == [2, None, 1]


def test_writing_value_that_violates_schema_is_refused() -> None:
    wrong = Order("tea", "two")  # type: ignore[arg-type]  # a user's mistake
    for write in (lambda: SERDE.serialize(wrong), lambda: SERDE.serialize_many([None, wrong])):
        with pytest.raises(SerializationError, match=r'"two" is not of type "integer" at \$'):
            write()
    with pytest.raises(SerializationError, match="less than the minimum"):
        BOUNDED.serialize(Order("tea", 0))


def test_reading_value_that_violates_given_schema_is_refused() -> None:
    data = b'{"item": "tea", "count": 0}'
    column = pa.array([b'{"item": "tea"}', data], pa.binary())
    for read in (
        lambda: BOUNDED.deserialize(data),
        lambda: BOUNDED.deserialize_many(column),
        lambda: BOUNDED.to_arrow(column),
    ):
        with pytest.raises(DeserializationError, match=r"less than the minimum of 1 at \$"):
            read()
    assert SERDE.deserialize(data) == Order("tea", 0)


@pytest.mark.parametrize("data", [b"", b"{", b'{"item"}', b"\xff", b"[" * 100_000])
def test_reading_invalid_json_is_refused(data: bytes) -> None:
    with pytest.raises(DeserializationError):
        BOUNDED.deserialize(data)
    with pytest.raises(DeserializationError):
        BOUNDED.deserialize_many(pa.array([data]))


def test_serde_reads_frames_of_any_json_schema_and_refuses_other_formats() -> None:
    assert SERDE.reading(Schema("JSON", "{}")) is SERDE
    with pytest.raises(ValueError, match="written as AVRO"):
        SERDE.reading(Schema("AVRO", "{}"))


def test_serdes_with_equal_schemas_are_equal_and_pickle() -> None:
    assert pickle.loads(pickle.dumps(BOUNDED)) == BOUNDED
    assert BOUNDED != SERDE
    assert hash(json_schema(json_serde(Order))) == hash(SERDE)


def test_invalid_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="not a valid JSON Schema"):
        json_schema(json_serde(Order), "{")
    with pytest.raises(ValueError, match="not a valid JSON Schema"):
        json_schema(json_serde(Order), {"type": "nonsense"})
    with pytest.raises(TypeError, match="has no schema"):
        json_schema(json_serde(object))
