"""The delta file of a batch: format, bytes and damage."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.errors import StateCorruptError
from kstreams.state.backend.working import Pair, StoreChanges
from kstreams.state.log.delta import DIGEST_BYTES, DeltaHeader, decode, encode

_HEADER = DeltaHeader("app", "group", 3, 17, 16, "attempt", "ab" * 32)
_PAIRS = st.dictionaries(st.binary(max_size=9), st.none() | st.binary(max_size=30))
_BOUNDS = st.sets(st.binary(max_size=3), max_size=6).map(sorted)
_CHANGES = st.dictionaries(
    st.text(max_size=5),
    st.builds(
        lambda pairs, bounds: StoreChanges(
            sorted(pairs.items()), list(zip(bounds[::2], bounds[1::2], strict=False))
        ),
        _PAIRS,
        _BOUNDS,
    ),
    max_size=3,
)


@pytest.mark.long
@given(_CHANGES)
def test_encoded_delta_is_decoded_unchanged(changes: dict[str, StoreChanges]) -> None:
    assert decode(encode(changes, _HEADER)) == (_HEADER, changes)


def test_equal_changes_are_encoded_to_equal_bytes() -> None:
    pairs: list[Pair] = [(b"k", b"v"), (b"l", None)]
    one = encode({"a": StoreChanges(pairs), "b": StoreChanges()}, _HEADER)
    assert one == encode({"b": StoreChanges(), "a": StoreChanges(tuple(pairs), [])}, _HEADER)


@pytest.mark.parametrize(
    "keys", [[b"b", b"a"], [b"a", b"a"], [b"a", b""]], ids=["falling", "twice", "empty last"]
)
def test_delta_with_unsorted_keys_is_rejected(keys: list[bytes]) -> None:
    with pytest.raises(ValueError, match="must be distinct and sorted"):
        encode({"store": StoreChanges([(key, b"v") for key in keys])}, _HEADER)


@pytest.mark.parametrize(
    "ranges",
    [[(b"b", b"a")], [(b"a", b"a")], [(b"a", b"c"), (b"b", b"d")], [(b"a", b"b"), (b"b", b"c")]],
    ids=["falling", "empty", "overlapping", "touching"],
)
def test_delta_with_unsorted_ranges_is_rejected(ranges: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(ValueError, match="must be sorted and not touch"):
        encode({"store": StoreChanges(ranges=ranges)}, _HEADER)


@given(_CHANGES, st.data())
def test_damaged_or_truncated_delta_is_rejected(
    changes: dict[str, StoreChanges], data: st.DataObject
) -> None:
    good = encode(changes, _HEADER)
    position = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[position] ^= data.draw(st.integers(1, 255))
    for broken in (bytes(bad), good[:position], good + b"x"):
        with pytest.raises(StateCorruptError, match="'objects/name'"):
            decode(broken, "objects/name")


_WRITTEN: list[Pair] = [(b"", b""), (b"k", b"v"), (b"l", None)]
_RANGES = [(b"", b"a"), (b"kk", b"l\x00")]


def test_delta_of_format_1_is_read() -> None:
    """Format 1 has no ranges."""
    assert decode(bytes.fromhex(_VERSION_1)) == (_HEADER, {"s": StoreChanges(_WRITTEN, [])})


def test_delta_of_format_2_is_read() -> None:
    """Later versions must still read these bytes of format 2."""
    changes = {"s": StoreChanges(_WRITTEN, _RANGES), "t": StoreChanges([(b"k", b"w")], [])}
    assert decode(bytes.fromhex(_VERSION_2)) == (_HEADER, changes)


def test_delta_of_later_format_is_reported_as_unsupported_and_not_as_damaged() -> None:
    content = bytearray(encode({}, _HEADER)[:-DIGEST_BYTES])
    content[3] += 1
    with pytest.raises(StateCorruptError, match="has format 3; this version reads up to 2"):
        decode(bytes(content) + sha256(content).digest(), "objects/name")


_VERSION_1 = (
    "4b534401d20000007b22617070223a22617070222c2267726f7570223a2267726f7570222c2270617274697469"
    "6f6e223a332c2276657273696f6e223a31372c226261746368223a31362c22617474656d7074223a2261747465"
    "6d7074222c22706172656e74223a22616261626162616261626162616261626162616261626162616261626162"
    "61626162616261626162616261626162616261626162616261626162616261626162222c226b696e64223a2264"
    "656c7461222c2273746f726573223a5b5b2273222c332c322c315d5d2c22726177223a32377d28b52ffd201bc5"
    "000080000000000101000000ffffffff6b6c760200208033a705fcdd9827c28987d144e382ef45df6dd5c6e7a4"
    "d1871c0affdc197f95d853d304"
)


_VERSION_2 = (
    "4b534402e60000007b22617070223a22617070222c2267726f7570223a2267726f7570222c2270617274697469"
    "6f6e223a332c2276657273696f6e223a31372c226261746368223a31362c22617474656d7074223a2261747465"
    "6d7074222c22706172656e74223a22616261626162616261626162616261626162616261626162616261626162"
    "61626162616261626162616261626162616261626162616261626162616261626162222c226b696e64223a2264"
    "656c7461222c2273746f726573223a5b5b2273222c332c322c312c322c355d2c5b2274222c312c312c312c302c"
    "305d5d2c22726177223a35387d28b52ffd203a6d01000402000000000101000000ffffffff6b6c7602616b6b6c"
    "0001000000010000006b770400bb2c64928310ce9c169fd386d2f8f0d7d45ec04b092cba8d6a7b9c005a26d503"
    "6239b7b856f69f7e2f"
)
