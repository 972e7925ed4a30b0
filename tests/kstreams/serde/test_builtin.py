"""The built-in serdes: single values against columns, and against Kafka's bytes."""

from __future__ import annotations

import contextlib
import math
import pickle
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle

from kstreams import BYTES, DOUBLE, INT64, NONE, TEXT, Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import BOOL, INT32

int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)

VALUES: dict[str, tuple[Serde[Any], st.SearchStrategy[Any]]] = {
    "bytes": (BYTES, st.binary()),
    "text": (TEXT, st.text()),
    "int32": (INT32, int32s),
    "int64": (INT64, int64s),
    "double": (DOUBLE, st.floats()),
    "bool": (BOOL, st.booleans()),
    "none": (NONE, st.none()),
    "int32 ordered": (INT32.ordered, int32s),
    "int64 ordered": (INT64.ordered, int64s),
    "double ordered": (DOUBLE.ordered, st.floats()),
}
each = pytest.mark.parametrize("name", VALUES)
ORDERED = ("bytes", "text", "int32", "int64", "double", "bool")


def label(value: object) -> str:
    """Name a case, without addresses, which differ between processes."""
    text = repr(value)
    return type(value).__name__ if " at 0x" in text else text[:24]


def same(one: Any, other: Any) -> bool:
    """Compare value and type; floats bit by bit, so NaN equals itself and -0.0 is not 0.0."""
    if isinstance(one, float) and isinstance(other, float):
        return struct.pack("d", one) == struct.pack("d", other)
    return type(one) is type(other) and bool(one == other)


def all_same(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(map(same, some, others))


@each
@settings(max_examples=50)
@given(data=st.data())
def test_serialized_value_is_deserialized_unchanged(name: str, data: st.DataObject) -> None:
    serde, values = VALUES[name]
    value = data.draw(values)
    assert same(serde.deserialize(serde.serialize(value)), value)


@each
@settings(max_examples=50)
@given(data=st.data())
def test_many_values_give_same_bytes_as_single_values(name: str, data: st.DataObject) -> None:
    serde, strategy = VALUES[name]
    values = data.draw(st.lists(st.none() | strategy, max_size=20))
    start, length = data.draw(st.integers(0, 20)), data.draw(st.integers(0, 20))
    column = serde.serialize_many(values)
    singly = [None if v is None else serde.serialize(v) for v in values]
    assert column.type == pa.binary()
    assert column.to_pylist() == singly
    part = column.slice(start, length)
    assert all_same(serde.deserialize_many(part), values[start : start + length])


@each
@settings(max_examples=50)
@given(data=st.data())
def test_arrow_columns_give_same_values_as_bytes(name: str, data: st.DataObject) -> None:
    serde, strategy = VALUES[name]
    values = data.draw(st.lists(st.none() | strategy, max_size=20))
    start = data.draw(st.integers(0, 20))
    written = serde.serialize_many(values)
    column = serde.to_arrow(written.slice(start))
    assert column.type == serde.arrow_type
    assert all_same(column.to_pylist(), values[start:])
    assert serde.from_arrow(column).to_pylist() == written.to_pylist()[start:]
    whole = serde.to_arrow(written)
    assert serde.from_arrow(whole.slice(start)).to_pylist() == written.to_pylist()[start:]


@each
@given(data=st.binary(max_size=12))
def test_any_bytes_are_read_or_rejected_equally_by_all_methods(name: str, data: bytes) -> None:
    serde, _ = VALUES[name]
    column = pa.array([data, None, data], pa.binary())
    read: list[Any] | None = None
    with contextlib.suppress(DeserializationError):
        one = serde.deserialize(data)
        read = [one, None, one]
    if read is None:
        for bulk in (serde.deserialize_many, serde.to_arrow):
            with pytest.raises(DeserializationError):
                bulk(column)
    else:
        assert all_same(serde.deserialize_many(column), read)
        assert all_same(serde.to_arrow(column).to_pylist(), read)


@pytest.mark.parametrize("name", ORDERED)
@given(data=st.data())
def test_bytes_of_ordered_serde_sort_like_objects(name: str, data: st.DataObject) -> None:
    serde, strategy = VALUES[name]
    ordered = serde.ordered
    if name == "double":
        strategy = st.floats(allow_nan=False)
    one, other = data.draw(strategy), data.draw(strategy)
    if one < other:
        assert ordered.serialize(one) < ordered.serialize(other)
    elif not (one == 0 and other == 0):
        assert (one == other) == (ordered.serialize(one) == ordered.serialize(other))


def test_bytes_of_ordered_double_serde_sort_infinities_zeros_and_nans() -> None:
    rising = [-math.nan, -math.inf, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.5, math.inf, math.nan]
    written = [
        DOUBLE.ordered.serialize(math.copysign(v, s))
        for v, s in zip(rising, [-1] * 5 + [1] * 5, strict=True)
    ]
    assert written == sorted(written)


@each
def test_ordered_serde_is_its_own_ordered_serde(name: str) -> None:
    serde, _ = VALUES[name]
    assert serde.ordered.ordered is serde.ordered


@each
def test_unpickled_builtin_serde_is_same_object(name: str) -> None:
    serde, _ = VALUES[name]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(serde, protocol)) is serde
    data = cloudpickle.dumps(serde)  # type: ignore[no-untyped-call]
    assert pickle.loads(data) is serde


@each
@settings(max_examples=50)
@given(data=st.data())
def test_serdes_that_declare_hashes_by_bytes_have_equal_bytes_for_equal_values(
    name: str, data: st.DataObject
) -> None:
    serde, strategy = VALUES[name]
    if serde.hashes_by_bytes:
        one, other = data.draw(strategy), data.draw(strategy)
        assert (one == other) == (serde.serialize(one) == serde.serialize(other))
        assert hash(one) == hash(serde.deserialize(serde.serialize(one)))


def test_only_serdes_of_doubles_do_not_hash_by_bytes() -> None:
    assert {name for name, (serde, _) in VALUES.items() if not serde.hashes_by_bytes} == {
        "double",
        "double ordered",
    }
    assert all(serde.immutable for serde, _ in VALUES.values())


@pytest.mark.parametrize(
    ("serde", "value", "data"),
    [
        # org.apache.kafka.common.serialization: LongSerializer, IntegerSerializer,
        # DoubleSerializer, StringSerializer, BooleanSerializer.
        (INT64, 0, "0000000000000000"),
        (INT64, 1, "0000000000000001"),
        (INT64, -1, "ffffffffffffffff"),
        (INT64, 2**63 - 1, "7fffffffffffffff"),
        (INT64, -(2**63), "8000000000000000"),
        (INT64, 1_234_567_890_123, "0000011f71fb04cb"),
        (INT32, 0, "00000000"),
        (INT32, -1, "ffffffff"),
        (INT32, 2**31 - 1, "7fffffff"),
        (INT32, -(2**31), "80000000"),
        (DOUBLE, 1.0, "3ff0000000000000"),
        (DOUBLE, -0.0, "8000000000000000"),
        (DOUBLE, math.inf, "7ff0000000000000"),
        (DOUBLE, math.nan, "7ff8000000000000"),
        (TEXT, "", ""),
        (TEXT, "grüße €𝄞", "6772c3bcc39f6520e282acf09d849e"),
        (BOOL, True, "01"),
        (BOOL, False, "00"),
        (BYTES, b"\x00\xff", "00ff"),
        # Not in Kafka: the keys of stores.
        (INT64.ordered, 0, "8000000000000000"),
        (INT64.ordered, -1, "7fffffffffffffff"),
        (INT32.ordered, 1, "80000001"),
        (DOUBLE.ordered, 1.0, "bff0000000000000"),
        (DOUBLE.ordered, -1.0, "400fffffffffffff"),
    ],
    ids=label,
)
def test_built_in_serde_encodes_example_values_like_kafka(
    serde: Serde[Any], value: object, data: str
) -> None:
    assert serde.serialize(value).hex() == data
    assert serde.serialize_many([value]).to_pylist() == [bytes.fromhex(data)]


@pytest.mark.parametrize(
    ("serde", "value"),
    [
        (BYTES, "text"),
        (BYTES, bytearray(b"x")),
        (BYTES, memoryview(b"x")),
        (BYTES, 1),
        (TEXT, b"bytes"),
        (TEXT, 1),
        (TEXT, ["a"]),
        (TEXT, "\ud800"),
        (INT32, 2**31),
        (INT32, -(2**31) - 1),
        (INT32, 1.0),
        (INT32, "1"),
        (INT64, 2**63),
        (INT64, -(2**63) - 1),
        (INT64, 1.0),
        (INT64, "1"),
        (INT64, b"1"),
        (INT64.ordered, 1.5),
        (DOUBLE, "1.0"),
        (DOUBLE, b"1"),
        (DOUBLE, 10**400),
        (DOUBLE, 1j),
        (BOOL, 1),
        (BOOL, 0.0),
        (BOOL, "true"),
        (BOOL, np.True_),
        (NONE, 0),
        (NONE, b""),
    ],
    ids=label,
)
def test_serialize_rejects_objects_of_wrong_type(serde: Serde[Any], value: object) -> None:
    with pytest.raises(SerializationError) as caught:
        serde.serialize(value)
    assert "expected" in str(caught.value)
    for values in ([value], [None, value, None]):
        with pytest.raises(SerializationError):
            serde.serialize_many(values)


@pytest.mark.parametrize(
    ("serde", "good", "bad"),
    [(INT64, 1, 1.0), (TEXT, "a", b"a"), (BYTES, b"a", "a"), (INT32, 1, 2**31), (DOUBLE, 1.0, "1")],
    ids=label,
)
def test_serialize_many_rejects_object_of_wrong_type_among_valid_ones(
    serde: Serde[Any], good: object, bad: object
) -> None:
    for values in ([good, bad], [bad, good], [good] * 9 + [None, bad]):
        with pytest.raises(SerializationError):
            serde.serialize_many(values)


@pytest.mark.parametrize(
    ("serde", "data"),
    [
        (INT64, b""),
        (INT64, b"1234567"),
        (INT64, b"123456789"),
        (INT32, b"12345678"),
        (DOUBLE, b"1234"),
        (INT64.ordered, b""),
        (DOUBLE.ordered, b""),
        (BOOL, b""),
        (BOOL, b"\x02"),
        (BOOL, b"\x01\x01"),
        (TEXT, b"\xff"),
        (TEXT, b"\xed\xa0\x80"),
        (TEXT, b"\xc0\x80"),
    ],
    ids=label,
)
def test_invalid_bytes_are_rejected(serde: Serde[Any], data: bytes) -> None:
    good = serde.serialize_many([{"text": "a", "bool": True}.get(serde.name, 1)]).to_pylist()
    with pytest.raises(DeserializationError) as caught:
        serde.deserialize(data)
    assert serde.name in str(caught.value).lower()
    for items in ([data], [*good, None, data]):
        with pytest.raises(DeserializationError):
            serde.deserialize_many(pa.array(items, pa.binary()))


@pytest.mark.parametrize("length", range(18))
@pytest.mark.parametrize("start", [0, 1, 7, 8, 9])
def test_slices_of_columns_with_nulls_are_read(start: int, length: int) -> None:
    values = [None if number % 3 == 0 else number for number in range(40)]
    expected = values[start : start + length]
    column = pa.array(values, pa.int64()).slice(start, length)
    assert INT64.from_arrow(column).to_pylist() == INT64.serialize_many(expected).to_pylist()
    written = INT64.serialize_many(values).slice(start, length)
    assert INT64.to_arrow(written).to_pylist() == expected


@pytest.mark.parametrize(
    ("serde", "column", "expected"),
    [
        (INT64, pa.array([1, None], pa.int32()), [1, None]),
        (INT32, pa.array([1], pa.int64()), [1]),
        (INT64, pa.nulls(2), [None, None]),
        (DOUBLE, pa.array([1], pa.int64()), [1.0]),
        (DOUBLE, pa.array([1.5], pa.float32()), [1.5]),
        (TEXT, pa.array(["a", None], pa.large_string()), ["a", None]),
        (TEXT, pa.array(["a", "a"]).dictionary_encode(), ["a", "a"]),
        (BYTES, pa.array([b"a"], pa.large_binary()), [b"a"]),
        (BYTES, pa.nulls(1), [None]),
        (NONE, pa.nulls(2), [None, None]),
        (NONE, pa.array([None], pa.int64()), [None]),
        (BOOL, pa.array([True, None]), [True, None]),
    ],
    ids=label,
)
def test_from_arrow_accepts_columns_of_compatible_types(
    serde: Serde[Any], column: pa.Array, expected: list[Any]
) -> None:
    assert serde.deserialize_many(serde.from_arrow(column)) == expected


@pytest.mark.parametrize(
    ("serde", "column"),
    [
        (INT64, pa.array(["1"])),
        (INT64, pa.array([1.0])),
        (INT64, pa.array([True])),
        (INT32, pa.array([2**31])),
        (DOUBLE, pa.array(["1"])),
        (TEXT, pa.array([1])),
        (TEXT, pa.array([b"a"])),
        (BYTES, pa.array(["a"])),
        (BYTES, pa.array([1])),
        (NONE, pa.array([1])),
        (BOOL, pa.array([1])),
    ],
    ids=label,
)
def test_from_arrow_rejects_columns_of_other_types(serde: Serde[Any], column: pa.Array) -> None:
    with pytest.raises(SerializationError):
        serde.from_arrow(column)


@each
def test_empty_columns_are_read_and_written(name: str) -> None:
    serde, _ = VALUES[name]
    assert len(serde.serialize_many([])) == 0
    assert serde.serialize_many([]).type == pa.binary()
    assert serde.deserialize_many(pa.array([], pa.binary())) == []
    assert serde.to_arrow(pa.array([], pa.binary())).type == serde.arrow_type
    assert serde.from_arrow(pa.array([], serde.arrow_type)).type == pa.binary()


@pytest.mark.parametrize(
    ("serde", "text"), [(INT64, "<serde int64>"), (TEXT, "<serde text>"), (NONE, "<serde none>")]
)
def test_repr_of_serde_has_its_name(serde: Serde[Any], text: str) -> None:
    assert repr(serde) == text


def test_number_serdes_accept_numpy_numbers() -> None:
    assert INT64.serialize(int(np.int64(5))) == INT64.serialize_many([np.int64(5)])[0].as_py()
    assert DOUBLE.serialize_many([np.float64(1.5), 2]).to_pylist() == [
        DOUBLE.serialize(1.5),
        DOUBLE.serialize(2.0),
    ]
