"""The protobuf serde writes and reads messages of a generated class, and refuses others."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from google.protobuf.wrappers_pb2 import Int64Value
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle

from kstreams.errors import DeserializationError, SerializationError
from kstreams.plugins import load_plugin
from kstreams_protobuf import protobuf_serde
from tests.serdes.kstreams_protobuf.legacy_pb2 import Grouped, Legacy
from tests.serdes.kstreams_protobuf.money_pb2 import Money
from tests.serdes.kstreams_protobuf.random_messages import messages
from tests.serdes.kstreams_protobuf.shapes_pb2 import Everything, Mapped, Nothing
from tests.serdes.kstreams_protobuf.trees_pb2 import Tree

KINDS: tuple[type[Message], ...] = (Everything, Mapped, Nothing, Legacy, Grouped, Tree)
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.DESCRIPTOR.name)
MONEY = protobuf_serde(Money)


@kinds
@settings(max_examples=20)
@given(data=st.data())
def test_written_messages_are_read_singly_and_in_bulk(kind: Any, data: st.DataObject) -> None:
    serde: Any = protobuf_serde(kind)
    values = data.draw(st.lists(st.none() | messages(kind), max_size=5))
    start = data.draw(st.integers(0, 5))
    column = serde.serialize_many(values)
    assert column.type == pa.binary()
    written = [None if v is None else serde.serialize(v) for v in values]
    assert column.to_pylist() == written
    assert serde.deserialize_many(column.slice(start)) == values[start:]
    assert [None if d is None else serde.deserialize(d) for d in written] == values


@kinds
def test_protobuf_serde_can_be_pickled(kind: Any) -> None:
    serde: Any = protobuf_serde(kind)
    for copy in (
        pickle.loads(pickle.dumps(serde)),
        pickle.loads(cloudpickle.dumps(serde)),  # type: ignore[no-untyped-call]
    ):
        assert copy == serde
        assert hash(copy) == hash(serde)
        assert (copy.name, copy.arrow_type) == (serde.name, serde.arrow_type)
    assert serde != protobuf_serde(Money)


def test_protobuf_message_has_recorded_bytes() -> None:
    value = Everything(an_int64=-2, a_sint64=-3, a_string="ä", numbers=[1, 300], color=5)  # type: ignore[arg-type]  # open
    value.inner.weight = 0.0
    value.chosen_number = 0
    value.at.FromSeconds(1_700_000_000)
    written = (
        "20feffffffffffffffff01"
        "4005"
        "7202c3a4"
        "800105"
        "a20109190000000000000000"
        "aa010301ac02"
        "f80100"
        "ca02060880e2cfaa06"
    )
    assert protobuf_serde(Everything).serialize(value).hex() == written


def test_maps_are_written_in_the_order_of_their_keys() -> None:
    one, other = Mapped(), Mapped()
    for key in ("b", "a", "c"):
        one.counts[key] = 1
    for key in ("c", "b", "a"):
        other.counts[key] = 1
    data = protobuf_serde(Mapped).serialize(one)
    assert protobuf_serde(Mapped).serialize(other) == data
    assert data.hex() == "0a050a016110010a050a016210010a050a01631001"


def test_unknown_protobuf_fields_are_kept() -> None:
    data = Money(currency="EUR").SerializeToString() + b"\x50\x07"
    assert MONEY.serialize(MONEY.deserialize(data)) == data


def test_empty_bytes_are_read_as_empty_message() -> None:
    assert MONEY.deserialize(b"") == Money()
    assert MONEY.deserialize_many(pa.array([b"", None], pa.binary())) == [Money(), None]
    assert MONEY.serialize(Money()) == b""


@pytest.mark.parametrize("wrong", [Tree(), "text", b"\x0a", {"currency": "EUR"}, Money])
def test_objects_of_another_type_are_refused(wrong: Any) -> None:
    with pytest.raises(SerializationError, match=r"expected protobuf\[shapes.v1.Money:"):
        MONEY.serialize(wrong)
    with pytest.raises(SerializationError, match=r"expected protobuf\[shapes.v1.Money:"):
        MONEY.serialize_many([Money(), None, wrong])


def test_message_without_required_fields_is_refused_by_serialize() -> None:
    serde = protobuf_serde(Legacy)
    for write in (serde.serialize, lambda value: serde.serialize_many([value])):
        with pytest.raises(SerializationError, match=r"missing required fields: part\.name"):
            write(Legacy(id=1, part=Legacy.Part()))


def test_argument_must_be_a_generated_message_class() -> None:
    wrong: Any
    for wrong in (Message, int, Money(), "Money", None):
        with pytest.raises(TypeError, match="protoc"):
            protobuf_serde(wrong)


def test_messages_are_mutable_and_their_columns_are_structs() -> None:
    assert not MONEY.immutable
    assert not MONEY.hashes_by_bytes
    assert MONEY.type_token is Money
    kind = MONEY.arrow_type
    assert {field.name: field.type for field in kind} == {
        "currency": pa.string(),
        "units": pa.int64(),
    }


def test_messages_are_converted_to_and_from_json() -> None:
    value = Everything(a_string="ä", a_uint64=1 << 63, color=1)  # type: ignore[arg-type]  # open
    serde = protobuf_serde(Everything)
    content: Any = serde.to_json(value)
    assert content == {"aString": "ä", "aUint64": "9223372036854775808", "color": "COLOR_RED"}
    assert serde.from_json(json.loads(json.dumps(content))) == value
    deep: Any = {}
    for _ in range(5_000):
        deep = [deep]
    for wrong in (5, "text", None, {"zzz": 1}, {"aString": 1}, {1: 2}, deep):
        with pytest.raises(SerializationError, match=r"expected JSON of protobuf\["):
            serde.from_json(wrong)
    value.at.seconds = 1 << 60
    with pytest.raises(SerializationError, match="cannot be converted to JSON"):
        serde.to_json(value)


def test_protobuf_serde_is_found_by_its_plugin_name() -> None:
    assert load_plugin("kstreams.serdes", "protobuf") is protobuf_serde


def test_well_known_protobuf_messages_have_serdes() -> None:
    assert protobuf_serde(Int64Value).deserialize(b"\x08\x05").value == 5
    nested = Struct()
    nested.update({"a": [1, {"b": None}]})
    assert protobuf_serde(Struct).deserialize(protobuf_serde(Struct).serialize(nested)) == nested


def test_deeply_nested_protobuf_messages_are_refused() -> None:
    assert protobuf_serde(Tree).deserialize(_nested(60)).children[0].children
    with pytest.raises(DeserializationError, match=r"shapes.v1.Tree"):
        protobuf_serde(Tree).deserialize(_nested(200))


def _nested(depth: int) -> bytes:
    data = b""
    for _ in range(depth):
        size = len(data)
        head = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
        data = b"\x12" + head + data
    return data


def test_missing_library_error_names_the_extra() -> None:
    code = "import sys; sys.modules['ptars'] = None; import kstreams_protobuf"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'kstreams-spark[protobuf]'" in done.stderr
