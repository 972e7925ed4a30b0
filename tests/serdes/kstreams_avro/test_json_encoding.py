"""Avro's JSON encoding: equal to Java's and fastavro's, strict, typed as the binary encoding."""

from __future__ import annotations

import io
import json
import math
import pickle
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kstreams import Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import SerdeRequest
from kstreams.testing import SerdeContract, WrittenBytes
from kstreams_avro import avro_schema, avro_serde
from kstreams_avro.by_text import JSON_BY_TEXT
from kstreams_registry import SchemaRegistry, confluent
from tests.serdes.kstreams_avro.test_golden import GOLDEN, VALUES
from tests.serdes.kstreams_avro.test_random_schemas import cases

BRANCHES: dict[str, Any] = {
    "number": 7.5,
    "text": "hot",
    "list": [0.10000000149011612, None, -math.inf],
    "map": {"a": b"\xff"},
    "four": b"\x00\xff",
    "suit": "BLACK",
    "day": date(1970, 1, 2),
    "next": dict.fromkeys(("number", "text", "list", "map", "four", "suit", "day", "next")),
}


@dataclass
class Order:
    id: int
    price: float | None = None
    tags: list[str] = field(default_factory=list)


class TestJsonOrders(SerdeContract[Order]):
    recorded_name = "avro-json[Order#0662acafd100dd9f]"
    examples = 15

    def serde(self) -> Serde[Order]:
        return avro_serde(Order, encoding="json")

    def values(self) -> Sequence[Order]:
        return [Order(1, 2.5, ["hot"]), Order(0), Order(-(2**63)), *map(Order, range(20))]

    def strategy(self) -> st.SearchStrategy[Order]:
        prices = st.none() | st.floats(allow_nan=False)
        longs = st.integers(-(2**63), 2**63 - 1)
        return st.builds(Order, longs, prices, st.lists(st.text(max_size=3), max_size=3))

    def wrong_objects(self) -> Sequence[object]:
        wrong: Any = Order
        return [{"id": 1}, Order(2**63), wrong("1"), wrong(1, "2")]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"{", b"[]", b"null", b'{"id": 1.5}', b'{"id": 1, "other": 2}', b"\xff"]

    def written(self) -> Sequence[WrittenBytes[Order]]:
        return [
            WrittenBytes(b'{"id":1,"price":{"double":2.5},"tags":[]}', Order(1, 2.5), golden=True),
            WrittenBytes(b' {"price": null, "id": 1}\n', Order(1)),
        ]

    def fields(self) -> Mapping[str, pa.DataType]:
        return {"id": pa.int64(), "price": pa.float64()}

    def in_column(self, value: Order) -> object:
        return {name: getattr(value, name) for name in ("id", "price", "tags")}


@pytest.mark.parametrize("name", [*VALUES, "branches"])
def test_avro_json_encoding_of_each_type_equals_that_of_java(name: str) -> None:
    case = GOLDEN[name]
    value = VALUES.get(name, ("shop.Branches", BRANCHES))
    if name == "branches":
        case, value = {**case, "schema": case["schema"][0]}, BRANCHES
        case["json"] = json.dumps(json.loads(case["json"])["shop.Branches"])
    serde = avro_serde(schema=case["schema"], encoding="json")

    assert json.loads(serde.serialize(value)) == json.loads(case["json"])
    assert serde.deserialize(case["json"].encode()) == value
    assert serde.serialize(serde.deserialize(case["json"].encode())) == serde.serialize(value)


@settings(max_examples=100, deadline=None)
@given(cases())
def test_avro_json_encoding_of_random_values_equals_that_of_fastavro(
    case: tuple[Any, list[Any]],
) -> None:
    schema, values = case
    serde = avro_serde(schema=schema, encoding="json")
    binary = avro_serde(schema=schema)
    # fastavro's JSON writer fails on empty map keys, and writes infinity as an invalid JSON number.
    assume(not any(re.search(r"inf|''", repr(value)) for value in values))
    out = io.StringIO()
    fastavro.json_writer(out, fastavro.parse_schema(schema), values)
    texts = out.getvalue().splitlines()

    assert [json.loads(serde.serialize(value)) for value in values] == list(map(json.loads, texts))
    assert [serde.deserialize(text.encode()) for text in texts] == values
    column = serde.serialize_many([*values, None] * 9)
    assert serde.deserialize_many(column) == [*values, None] * 9
    assert serde.arrow_type == binary.arrow_type
    if serde.arrow_type != pa.binary():
        decoded = serde.to_arrow(column)
        assert decoded.equals(binary.to_arrow(binary.serialize_many([*values, None] * 9)))
        assert serde.from_arrow(decoded).equals(column)


def test_avro_json_encoding_writes_nan_and_infinity_as_text() -> None:
    serde = avro_serde(float, encoding="json")
    for number, text in ((math.inf, b'"Infinity"'), (-math.inf, b'"-Infinity"')):
        assert (serde.serialize(number), serde.deserialize(text)) == (text, number)
    assert serde.serialize(math.nan) == b'"NaN"'
    assert math.isnan(serde.deserialize(b'"NaN"'))


def test_avro_json_of_another_schema_is_read_with_defaults_and_renames() -> None:
    case = GOLDEN["backward"]
    serde = avro_serde(schema=case["reader"], encoding="json")
    writer = avro_serde(schema=case["writer"], encoding="json")
    reader = serde.reading(avro_schema(case["writer"]))
    binary = avro_serde(schema=case["reader"]).reading(avro_schema(case["writer"]))
    datum = bytes.fromhex(case["written"])

    text = writer.serialize(avro_serde(schema=case["writer"]).deserialize(datum))

    assert reader.deserialize(text) == binary.deserialize(datum)
    assert serde.serialize(reader.deserialize(text)) != text
    with pytest.raises(SerializationError, match="only reads data of another schema"):
        reader.serialize(reader.deserialize(text))


UNION = """{"type": "record", "name": "R", "fields": [
    {"name": "f", "type": ["null", "int", {"type": "array", "items": "int"}]}]}"""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"f": 7}', 'field \'f\': expected null or {"int": ...} or {"array": ...}, got 7'),
        ('{"f": {"long": 7}}', "field 'f': expected null or"),
        ('{"f": {"int": 7, "array": []}}', "field 'f': expected null or"),
        ('{"f": {"int": 2147483648}}', "field 'f.int': expected int, got 2147483648"),
        ('{"f": {"int": true}}', "field 'f.int': expected int, got True"),
        ('{"f": {"array": [1, "2"]}}', "field 'f.array[1]': expected int, got '2'"),
        ("{}", "field 'f': missing, and it has no default"),
        ('{"f": null, "g": 1}', "record R has no field 'g'"),
        ('{"f": null', "truncated"),
        ("NaN", "invalid"),
    ],
)
def test_wrong_json_raises_deserialization_error_with_the_field(text: str, problem: str) -> None:
    serde = avro_serde(schema=UNION, encoding="json")
    with pytest.raises(DeserializationError, match=r"avro-json\[R#") as raised:
        serde.deserialize(text.encode())
    assert problem in str(raised.value)
    with pytest.raises(DeserializationError):
        serde.deserialize_many(pa.array([text.encode()], pa.binary()))


CHAIN = '{"type":"record","name":"C","fields":[{"name":"next","type":["null","C"]}]}'


@pytest.mark.parametrize("depth", [127, 129, 100_000])
def test_nested_json_has_the_depth_limit_of_the_binary_encoding(depth: int) -> None:
    text = b'{"next":{"C":' * depth + b'{"next":null}' + b"}}" * depth
    serde = avro_serde(schema=CHAIN, encoding="json")
    if depth < 128:
        assert serde.serialize(serde.deserialize(text)) == text
    else:
        with pytest.raises(DeserializationError):
            serde.deserialize(text)


def test_json_serde_pickles_and_compares_by_type_and_encoding() -> None:
    serde = avro_serde(Order, encoding="json")
    assert pickle.loads(pickle.dumps(serde)) == serde  # made in this test
    assert serde == avro_serde(Order, encoding="json")
    assert serde != avro_serde(Order)
    assert serde.schema == avro_serde(Order).schema


def test_registry_serde_refuses_avro_json_encoding() -> None:
    serde: Any = avro_serde(Order, encoding="json")
    with pytest.raises(TypeError, match="in its binary encoding"):
        confluent(serde, SchemaRegistry("http://127.0.0.1:1"))


def test_avro_serde_rejects_an_unknown_encoding() -> None:
    encoding: Any = "JSON"
    with pytest.raises(ValueError, match="encoding='binary' or encoding='json', got 'JSON'"):
        avro_serde(Order, encoding=encoding)


def test_command_line_serde_reads_the_json_encoding(tmp_path: Path) -> None:
    path = tmp_path / "order.avsc"
    path.write_text(UNION, "utf-8")
    serde = JSON_BY_TEXT.make(SerdeRequest(str(path), lambda _: pytest.fail("no inner serde")))
    assert serde.deserialize(b'{"f": {"int": 7}}') == {"f": 7}
    with pytest.raises(ValueError, match="name of a schema file"):
        JSON_BY_TEXT.make(SerdeRequest("", lambda _: pytest.fail("no inner serde")))
