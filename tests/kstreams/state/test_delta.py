from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.errors import StateCorruptError
from kstreams.state.delta import DeltaHeader, decode, encode

_HEADER = DeltaHeader("app", "group", 3, 17, 16, "attempt", "ab" * 32)
_PAIRS = st.dictionaries(st.binary(max_size=9), st.none() | st.binary(max_size=30))
_CHANGES = st.dictionaries(
    st.text(max_size=5), _PAIRS.map(lambda pairs: sorted(pairs.items())), max_size=3
)


@given(_CHANGES)
def test_it_is_read_as_it_was_written(
    changes: dict[str, list[tuple[bytes, bytes | None]]],
) -> None:
    assert decode(encode(changes, _HEADER)) == (_HEADER, changes)


def test_equal_changes_give_equal_bytes() -> None:
    pairs: list[tuple[bytes, bytes | None]] = [(b"k", b"v"), (b"l", None)]
    one = encode({"a": pairs, "b": []}, _HEADER)
    assert one == encode({"b": (), "a": tuple(pairs)}, _HEADER)


@pytest.mark.parametrize(
    "keys", [[b"b", b"a"], [b"a", b"a"], [b"a", b""]], ids=["falling", "twice", "empty last"]
)
def test_keys_out_of_order_are_refused(keys: list[bytes]) -> None:
    with pytest.raises(ValueError, match="must rise"):
        encode({"store": [(key, b"v") for key in keys]}, _HEADER)


@given(_CHANGES, st.data())
def test_any_damage_is_found(
    changes: dict[str, list[tuple[bytes, bytes | None]]], data: st.DataObject
) -> None:
    good = encode(changes, _HEADER)
    position = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[position] ^= data.draw(st.integers(1, 255))
    for broken in (bytes(bad), good[:position], good + b"x"):
        with pytest.raises(StateCorruptError, match="'objects/name'"):
            decode(broken, "objects/name")


def test_the_format_is_the_documented_one() -> None:
    """Bytes of version 1, which later versions must go on reading."""
    written = bytes.fromhex(_VERSION_1)
    pairs: list[tuple[bytes, bytes | None]] = [(b"", b""), (b"k", b"v"), (b"l", None)]
    assert decode(written) == (_HEADER, {"s": pairs})


_VERSION_1 = (
    "4b534401d20000007b22617070223a22617070222c2267726f7570223a2267726f7570222c2270617274697469"
    "6f6e223a332c2276657273696f6e223a31372c226261746368223a31362c22617474656d7074223a2261747465"
    "6d7074222c22706172656e74223a22616261626162616261626162616261626162616261626162616261626162"
    "61626162616261626162616261626162616261626162616261626162616261626162222c226b696e64223a2264"
    "656c7461222c2273746f726573223a5b5b2273222c332c322c315d5d2c22726177223a32377d28b52ffd201bc5"
    "000080000000000101000000ffffffff6b6c760200208033a705fcdd9827c28987d144e382ef45df6dd5c6e7a4"
    "d1871c0affdc197f95d853d304"
)
