"""The built-in serdes pass `SerdeContract`, the test suite for custom serdes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from kstreams import BYTES, DOUBLE, INT64, TEXT, Serde
from kstreams.durations import milliseconds
from kstreams.serde import BOOL, INT32
from kstreams.serde.composite import TupleSerde
from kstreams.serde.sequences import FrozenSetSerde, SequenceSerde
from kstreams.serde.spans import SpansSerde
from kstreams.serde.stamped import StampedSerde
from kstreams.testing import SerdeContract, WrittenBytes
from kstreams.windows import SessionWindows, TumblingWindows, Windowed, windowed

int64s = st.integers(-(2**63), 2**63 - 1)
PAIRS: Serde[Any] = TupleSerde(TEXT, INT64)
TUMBLING: Serde[Windowed[str]] = windowed(TEXT, TumblingWindows(milliseconds(10)))


class TestText(SerdeContract[str]):
    sorts = True
    recorded_name = "text"

    def serde(self) -> Serde[str]:
        return TEXT

    def values(self) -> Sequence[str]:
        return ["", "a", "grüße €𝄞", "\x00", "z" * 300]

    def strategy(self) -> st.SearchStrategy[str]:
        return st.text()

    def wrong_objects(self) -> Sequence[object]:
        return [b"a", 1, "\ud800"]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"\xff", b"a\xed\xa0\x80", b"\xc0\x80"]

    def written(self) -> Sequence[WrittenBytes[str]]:
        return [WrittenBytes(b"gr\xc3\xbc\xc3\x9fe", "grüße", golden=True)]


class TestBytes(SerdeContract[bytes]):
    sorts = True
    recorded_name = "bytes"

    def serde(self) -> Serde[bytes]:
        return BYTES

    def values(self) -> Sequence[bytes]:
        return [b"", b"\x00", b"\xff\xfe", b"a" * 300]

    def strategy(self) -> st.SearchStrategy[bytes]:
        return st.binary()

    def wrong_objects(self) -> Sequence[object]:
        return ["a", bytearray(b"a"), 1]


class TestInt64(SerdeContract[int]):
    recorded_name = "int64"

    def serde(self) -> Serde[int]:
        return INT64

    def values(self) -> Sequence[int]:
        return [0, 1, -1, 2**63 - 1, -(2**63)]

    def strategy(self) -> st.SearchStrategy[int]:
        return int64s

    def wrong_objects(self) -> Sequence[object]:
        return ["1", 1.0, 2**63]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"1234567", b"123456789"]

    def written(self) -> Sequence[WrittenBytes[int]]:
        return [WrittenBytes(b"\0\0\0\0\0\0\1\2", 258, golden=True)]


class TestOrderedInt64(TestInt64):
    sorts = True

    def serde(self) -> Serde[int]:
        return INT64.ordered

    def written(self) -> Sequence[WrittenBytes[int]]:
        return [WrittenBytes(b"\x80\0\0\0\0\0\0\1", 1, golden=True)]


class TestInt32(SerdeContract[int]):
    recorded_name = "int32"

    def serde(self) -> Serde[int]:
        return INT32

    def values(self) -> Sequence[int]:
        return [0, 1, -1, 2**31 - 1, -(2**31)]

    def wrong_objects(self) -> Sequence[object]:
        return ["1", 1.0, 2**31]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"12345678"]


class TestDouble(SerdeContract[float]):
    recorded_name = "double"

    def serde(self) -> Serde[float]:
        return DOUBLE

    def values(self) -> Sequence[float]:
        return [0.0, -0.0, 1.5, -math.inf, math.nan, 5e-324]

    def strategy(self) -> st.SearchStrategy[float]:
        return st.floats()

    def wrong_objects(self) -> Sequence[object]:
        return ["1.0", 10**400, 1j]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"1234"]


class TestBool(SerdeContract[bool]):
    recorded_name = "bool"
    sorts = True

    def serde(self) -> Serde[bool]:
        return BOOL

    def values(self) -> Sequence[bool]:
        return [True, False]

    def wrong_objects(self) -> Sequence[object]:
        return [1, "true"]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"\x02", b"\x01\x01"]


class TestTuples(SerdeContract[Any]):
    def serde(self) -> Serde[Any]:
        return PAIRS

    def values(self) -> Sequence[Any]:
        return [("", 0), ("é", -5)]

    def strategy(self) -> st.SearchStrategy[Any]:
        return st.tuples(st.text(), int64s)

    def wrong_objects(self) -> Sequence[object]:
        return [("a",), ["a", 1], ("a", "b")]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"\0\0\0\1a\0\0\0\7" + bytes(7), PAIRS.serialize(("a", 1)) + b"x"]


class TestSequences(SerdeContract[Any]):
    def serde(self) -> Serde[Any]:
        return SequenceSerde(TEXT)

    def values(self) -> Sequence[Any]:
        return [(), ("",), ("a", "b")]

    def wrong_objects(self) -> Sequence[object]:
        return [["a"], (1,)]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"\0", b"\0\0\0\2a"]


class TestSets(SerdeContract[Any]):
    def serde(self) -> Serde[Any]:
        return FrozenSetSerde(TEXT)

    def values(self) -> Sequence[Any]:
        return [frozenset(), frozenset("a"), frozenset("abc")]

    def wrong_objects(self) -> Sequence[object]:
        return [{"a"}, frozenset((1,))]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"\0\0\0\2a"]


class TestStamped(SerdeContract[Any]):
    def serde(self) -> Serde[Any]:
        return StampedSerde(TEXT)

    def values(self) -> Sequence[Any]:
        return [("", 0), ("a", -1)]

    def wrong_objects(self) -> Sequence[object]:
        return [("a", 1.5), (1, 1), ("a", 1 << 63)]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"1234567", bytes(8) + b"\xff"]


class TestSpans(SerdeContract[Any]):
    def serde(self) -> Serde[Any]:
        return SpansSerde(TEXT)

    def values(self) -> Sequence[Any]:
        return [(), ((0, 10, "a"), (5, 20, ""))]

    def wrong_objects(self) -> Sequence[object]:
        return [((0, 1 << 63, "a"),), ((0, 1, 1),)]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"\0\0\0\1a", b"\0\0\0\2a"]


class TestTumblingKeys(SerdeContract[Windowed[str]]):
    def serde(self) -> Serde[Windowed[str]]:
        return TUMBLING

    def values(self) -> Sequence[Windowed[str]]:
        return [Windowed("", 0, 10), Windowed("é", -10, 0)]

    def wrong_objects(self) -> Sequence[object]:
        return [Windowed("a", 0, 11)]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"1234567", b"\xff" + bytes(8)]


class TestSessionKeys(TestTumblingKeys):
    def serde(self) -> Serde[Windowed[str]]:
        return windowed(TEXT, SessionWindows(milliseconds(10)))

    def wrong_objects(self) -> Sequence[object]:
        return [Windowed("a", 0, 1 << 63)]


# ------------------------------------------------------------ the suite detects faults


class _Lax(Serde[Any]):
    """A serde of small dicts with selectable faults."""

    name = "lax"

    def __init__(self, *faults: str) -> None:
        self.faults = faults

    def serialize(self, value: Any) -> bytes:
        if not isinstance(value, dict) and "takes all" not in self.faults:
            TEXT.serialize(value)
        return repr(value).encode()

    def deserialize(self, data: bytes) -> Any:
        if "panics" in self.faults and not data:
            raise SystemExit
        try:
            number = int(data[6:-1])
        except ValueError as exc:
            if "other errors" in self.faults:
                raise
            from kstreams.errors import DeserializationError

            raise DeserializationError(f"no dict: {data!r}") from exc
        return {"a": number}

    def deserialize_many(self, data: pa.Array) -> list[Any]:
        if "loses nulls" in self.faults:
            return [self.deserialize(item or b"{'a': 0}") for item in data.to_pylist()]
        found = super().deserialize_many(data)
        if "shares" in self.faults and found:
            return [found[0]] * len(found)
        return found

    @property
    def immutable(self) -> bool:  # type: ignore[override]  # depending on its faults
        return "claims" in self.faults

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Lax) and "unequal" not in self.faults

    def __hash__(self) -> int:
        return 1


class _LaxContract(SerdeContract[Any]):
    faults: tuple[str, ...] = ()

    def serde(self) -> Serde[Any]:
        return _Lax(*self.faults)

    def values(self) -> Sequence[Any]:
        return [{"a": 1}, {"a": 22}]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"{'a': x}"]

    def fields(self) -> Mapping[str, pa.DataType]:
        return {"a": pa.int64()}


def failed(*faults: str) -> set[str]:
    suite = _LaxContract()
    suite.faults = faults
    found = set()
    for name in dir(suite):
        if name.startswith("test_"):
            try:
                getattr(suite, name)()
            except AssertionError:
                found.add(name)
    return found


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        ("takes all", "test_objects_of_wrong_type_raise_serialization_error"),
        ("panics", "test_bad_bytes_raise_same_error_singly_and_in_bulk"),
        ("other errors", "test_damaged_bytes_are_read_or_refused_equally_by_all_methods"),
        ("loses nulls", "test_deserialize_many_equals_deserialize_of_each_row"),
        ("shares", "test_deserialized_mutable_objects_are_not_shared"),
        ("claims", "test_objects_of_immutable_serde_cannot_change"),
        ("unequal", "test_serde_equals_serde_with_same_arguments"),
    ],
)
def test_serde_contract_detects_each_fault(fault: str, test: str) -> None:
    assert test in failed(fault)


def test_serde_without_faults_passes_serde_contract() -> None:
    assert failed() == set()


def test_serde_contract_without_serde_names_method_to_override() -> None:
    with pytest.raises(NotImplementedError, match=r"override serde\(\)"):
        SerdeContract[Any]().serde()
    with pytest.raises(NotImplementedError, match=r"override values\(\)"):
        SerdeContract[Any]().values()
