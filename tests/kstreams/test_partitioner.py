"""The partitioner, compared with results of Kafka's Java client.

`data/murmur2_golden.json` was made with kafka-clients 3.9.1: `Utils.murmur2` and `Utils.toPositive`
of `org.apache.kafka.common.utils` for random keys of 0 to 40 bytes and of lengths around powers of
two up to 4,097, all-zero and all-one keys, UTF-8 text and big-endian longs.
"""

from __future__ import annotations

import json
import pickle
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams._murmur2 import murmur2_of
from kstreams.partitioner import (
    FunctionPartitioner,
    InnerKeyPartitioner,
    Murmur2Partitioner,
    Partitioner,
    partition_by,
    partition_of,
    partitions_of,
    target,
    targets,
)

GOLDEN = [
    (bytes.fromhex(case["key"]), case["murmur2"], case["positive"])
    for case in json.loads((Path(__file__).parent / "data" / "murmur2_golden.json").read_text())
]
TYPES = [pa.binary(), pa.large_binary()]


def _signed(hashed: int) -> int:
    """Return an unsigned 32-bit integer as a Java `int`."""
    return hashed - (1 << 32) if hashed >= 1 << 31 else hashed


keys_of_mixed_length = st.lists(st.none() | st.binary(max_size=40), max_size=120)
counts = st.integers(1, 1000)


def _expected(keys: list[bytes | None], partitions: int) -> list[int]:
    return [-1 if key is None else partition_of(key, partitions) for key in keys]


def by_length(key: bytes, partitions: int) -> int:
    return len(key) % partitions


def test_murmur2_hash_equals_that_of_java_client() -> None:
    assert [hashed for _, hashed, _ in GOLDEN] == [_signed(murmur2_of(key)) for key, _, _ in GOLDEN]


@pytest.mark.parametrize("partitions", [1, 2, 3, 7, 64, 1000])
def test_partition_of_key_equals_that_of_java_client(partitions: int) -> None:
    expected = [positive % partitions for _, _, positive in GOLDEN]
    assert expected == [partition_of(key, partitions) for key, _, _ in GOLDEN]


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("partitions", [1, 2, 3, 7, 64, 1000])
def test_partitions_of_key_column_equal_those_of_java_client(
    kind: pa.DataType, partitions: int
) -> None:
    keys = pa.array([key for key, _, _ in GOLDEN], kind)
    expected = [positive % partitions for _, _, positive in GOLDEN]
    assert expected == partitions_of(keys, partitions).tolist()


@pytest.mark.parametrize("length", range(41))
def test_partitions_of_equally_long_keys_equal_those_of_java_client(length: int) -> None:
    cases = [case for case in GOLDEN if len(case[0]) == length] * 20
    keys = pa.array([key for key, _, _ in cases], pa.binary())
    assert [case[2] % 97 for case in cases] == partitions_of(keys, 97).tolist()


@given(keys_of_mixed_length, counts, st.sampled_from(TYPES), st.data())
def test_partitions_of_whole_and_sliced_column_equal_those_of_single_keys(
    keys: list[bytes | None], partitions: int, kind: pa.DataType, data: st.DataObject
) -> None:
    column = pa.array(keys, kind)
    start = data.draw(st.integers(0, len(keys)))
    stop = data.draw(st.integers(start, len(keys)))
    assert _expected(keys, partitions) == partitions_of(column, partitions).tolist()
    cut = column.slice(start, stop - start)
    assert _expected(keys[start:stop], partitions) == partitions_of(cut, partitions).tolist()


@given(st.integers(0, 40), st.integers(0, 60), counts, st.randoms(use_true_random=False))
def test_partitions_of_column_of_equally_long_keys_equal_those_of_single_keys(
    length: int, rows: int, partitions: int, random: Any
) -> None:
    keys: list[bytes | None] = [random.randbytes(length) for _ in range(rows)]
    expected = _expected(keys, partitions)
    assert expected == partitions_of(pa.array(keys, pa.binary()), partitions).tolist()
    if length:
        fixed = pa.array([b"." * length, *keys], pa.binary(length)).slice(1)
        assert expected == partitions_of(fixed, partitions).tolist()


@given(st.lists(st.none() | st.text(max_size=12), max_size=60), counts)
def test_text_keys_are_hashed_by_utf8_bytes(keys: list[str | None], partitions: int) -> None:
    expected = _expected([None if key is None else key.encode() for key in keys], partitions)
    assert expected == partitions_of(pa.array(keys, pa.string()), partitions).tolist()
    assert expected == partitions_of(pa.array(keys, pa.large_string()), partitions).tolist()


def test_partitions_of_column_longer_than_block_equal_those_of_single_keys() -> None:
    random = np.random.default_rng(5)
    keys: list[bytes | None] = [random.bytes(int(n)) for n in random.integers(0, 30, 40_000)]
    keys[11] = None
    keys[17_000] = random.bytes(70_000)
    keys[17_001] = random.bytes(1_000)
    assert _expected(keys, 12) == partitions_of(pa.array(keys, pa.binary()), 12).tolist()


def test_partitions_of_chunked_column_keep_order() -> None:
    keys: list[bytes | None] = [b"%d" % (n * n) for n in range(100)]
    chunks = [pa.array(keys[:1], pa.binary()), pa.array([], pa.binary()), pa.array(keys[1:])]
    assert _expected(keys, 5) == partitions_of(pa.chunked_array(chunks), 5).tolist()


@pytest.mark.parametrize(
    "column",
    [
        pa.array([], pa.binary()),
        pa.array([], pa.large_string()),
        pa.array([], pa.binary(4)),
        pa.chunked_array([], pa.binary()),
        pa.array([b"a", b"b"]).slice(2),
    ],
    ids=str,
)
def test_partitions_of_empty_column_are_empty(column: Any) -> None:
    found = partitions_of(column, 3)
    assert (0, np.dtype(np.int32)) == (len(found), found.dtype)


def test_column_of_only_nulls_or_empty_keys_without_data_buffer_is_partitioned() -> None:
    assert partitions_of(pa.nulls(3, pa.binary()), 3).tolist() == [-1] * 3
    assert [partition_of(b"", 3)] * 20 == partitions_of(pa.array([b""] * 20), 3).tolist()


def test_partitioning_of_column_rejects_column_of_numbers() -> None:
    with pytest.raises(TypeError, match="int64"):
        partitions_of(pa.array([1, 2]), 3)


@pytest.mark.parametrize(
    "partitioner",
    [Murmur2Partitioner(), InnerKeyPartitioner(8), partition_by(by_length)],
    ids=lambda it: it.name,
)
def test_partitioner_can_be_pickled_and_compared(partitioner: Partitioner) -> None:
    again = pickle.loads(pickle.dumps(partitioner))
    assert partitioner == again
    assert hash(partitioner) == hash(again)
    assert partitioner != partition_by(by_length, name="other")


@given(keys_of_mixed_length, counts)
def test_partitioner_gives_same_partition_for_key_and_column(
    keys: list[bytes | None], partitions: int
) -> None:
    column = pa.array(keys, pa.binary())
    partitioners: list[Partitioner] = [
        Murmur2Partitioner(),
        InnerKeyPartitioner(8),
        partition_by(by_length),
    ]
    for partitioner in partitioners:
        one_by_one = [-1 if key is None else partitioner.partition(key, partitions) for key in keys]
        assert one_by_one == partitioner.partition_batch(column, partitions).tolist()


def test_inner_key_partitioner_ignores_tail_of_key() -> None:
    rule = InnerKeyPartitioner(8)
    for key in (b"", b"a", b"alice", b"k" * 40):
        for tail in (bytes(8), b"\xff" * 8):
            assert rule.partition(key + tail, 12) == partition_of(key, 12)
    assert rule != InnerKeyPartitioner(16)


def test_function_partitioner_has_name_of_function() -> None:
    assert partition_by(by_length).name == "by_length"


def test_function_partitioner_rejects_partition_missing_in_topic() -> None:
    wrong = FunctionPartitioner("wrong", lambda key, partitions: partitions)
    with pytest.raises(ValueError, match="'wrong' gave partition 4, expected 0 to 3"):
        wrong.partition(b"key", 4)


@pytest.mark.parametrize("partitions", [0, -1])
def test_partition_count_below_one_is_rejected(partitions: int) -> None:
    with pytest.raises(ValueError, match="expected at least 1"):
        partition_of(b"key", partitions)
    with pytest.raises(ValueError, match="expected at least 1"):
        partitions_of(pa.array([b"key"]), partitions)
    with pytest.raises(ValueError, match="expected at least 1"):
        partition_by(by_length).partition(b"key", partitions)
    with pytest.raises(ValueError, match="expected at least 1"):
        partition_by(by_length).partition_batch(pa.array([b"key"]), partitions)


@given(st.lists(st.none() | st.binary(max_size=3), max_size=20), st.integers(1, 5))
def test_null_keys_are_distributed_round_robin_by_row(
    keys: list[bytes | None], partitions: int
) -> None:
    rule = Murmur2Partitioner()
    column = pa.array(keys, pa.binary())
    expected = [
        (7 + row) % partitions if key is None else rule.partition(key, partitions)
        for row, key in enumerate(keys)
    ]
    assert targets(rule, column, partitions, first=7).tolist() == expected
    one_by_one = [target(rule, k, partitions, count(7 + n)) for n, k in enumerate(keys)]
    assert one_by_one == expected


def test_only_records_with_null_key_advance_round_robin() -> None:
    turns = iter([4])
    assert target(Murmur2Partitioner(), b"a", 3, turns) == Murmur2Partitioner().partition(b"a", 3)
    assert target(Murmur2Partitioner(), None, 3, turns) == 1
