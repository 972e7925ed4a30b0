"""FNV-1a, by test vectors of its authors and by the rule of goka."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.io import Fnv1aPartitioner, Murmur2Partitioner, fnv1a, murmur2

VECTORS = {
    b"": 0x811C9DC5,
    b"a": 0xE40C292C,
    b"b": 0xE70C2DE5,
    b"c": 0xE60C2C52,
    b"fo": 0x6222E842,
    b"foo": 0xA9F37ED7,
    b"foob": 0x3F5076EF,
    b"fooba": 0x39AAA18A,
    b"foobar": 0xBF9CF968,
}


@pytest.mark.parametrize("data", VECTORS)
def test_fnv1a_gives_test_vectors_of_its_authors(data: bytes) -> None:
    assert fnv1a(data) == VECTORS[data]


def of_goka(key: bytes, partitions: int) -> int:
    """Return the partition that goka computes: a signed 32-bit integer, negated if negative."""
    signed = fnv1a(key) - (1 << 32) if fnv1a(key) >= 1 << 31 else fnv1a(key)
    return (-signed if signed < 0 else signed) % partitions


@given(st.lists(st.one_of(st.none(), st.binary(max_size=20)), max_size=40), st.integers(1, 64))
def test_partitions_of_keys_and_columns_equal_those_of_goka(
    keys: list[bytes | None], partitions: int
) -> None:
    rule = Fnv1aPartitioner()
    expected = [-1 if key is None else of_goka(key, partitions) for key in keys]
    assert [-1 if k is None else rule.partition(k, partitions) for k in keys] == expected
    column = pa.array(keys, pa.binary())
    assert rule.partition_batch(column, partitions).tolist() == expected
    assert rule.partition_batch(column.slice(3), partitions).tolist() == expected[3:]
    chunked = pa.chunked_array([column[:5], column[5:]], pa.binary())
    assert rule.partition_batch(chunked, partitions).tolist() == expected


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["ä", None, "foobar"], pa.string()),
        pa.array([b"abc", b"xyz"], pa.binary(3)),
        pa.array([b"k" * 255, b"k" * 256, b"k" * 257, b"k" * 5_000, b"", b"k"], pa.large_binary()),
        pa.chunked_array([], pa.binary()),
    ],
    ids=["text", "fixed", "long", "empty"],
)
def test_fnv1a_partitions_columns_of_each_arrow_type_as_single_keys(column: Any) -> None:
    rule = Fnv1aPartitioner()
    keys = [k.encode() if isinstance(k, str) else k for k in column.to_pylist()]
    expected = [-1 if key is None else rule.partition(key, 7) for key in keys]
    assert rule.partition_batch(column, 7).tolist() == expected


def test_fnv1a_rejects_partition_count_below_one() -> None:
    for count in (0, -1):
        with pytest.raises(ValueError, match="expected at least 1"):
            Fnv1aPartitioner().partition(b"k", count)
        with pytest.raises(ValueError, match="expected at least 1"):
            Fnv1aPartitioner().partition_batch(pa.array([b"k"]), count)


@given(st.binary(max_size=40), st.integers(1, 100))
def test_public_murmur2_is_hash_of_default_partitioner(key: bytes, count: int) -> None:
    found = Murmur2Partitioner().partition(key, count)
    assert (murmur2(key) & 0x7FFFFFFF) % count == found
