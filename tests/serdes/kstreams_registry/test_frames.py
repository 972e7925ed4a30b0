"""Frames of the wire format: golden bytes, columns as rows, and hostile frames."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams_registry.frames import Frame, frame_bytes, frames_of, index_bytes, parse_frame

ids = st.integers(0, (1 << 32) - 1)
names = ids | st.binary(min_size=16, max_size=16)
indexes = st.lists(st.integers(0, 300), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("given", "zigzag", "data"),
    [
        ([0], True, b"\x00"),
        ([1], True, b"\x02\x02"),
        ([0, 1], True, b"\x04\x00\x02"),
        ([1, 0], True, b"\x04\x02\x00"),
        ([64], True, b"\x02\x80\x01"),
        ([0], False, b"\x01\x00"),
        ([1], False, b"\x01\x01"),
        ([1, 2], False, b"\x02\x01\x02"),
    ],
)
def test_protobuf_message_indexes_have_recorded_bytes(
    given: list[int], zigzag: bool, data: bytes
) -> None:
    assert index_bytes(given, zigzag=zigzag) == data
    frame = parse_frame(b"\0\0\0\0\x07" + data + b"rest", indexed=True, zigzag=zigzag)
    assert frame == Frame(b"\0\0\0\0\x07" + data, 7, tuple(given))


def test_first_message_index_may_be_written_in_full() -> None:
    assert parse_frame(b"\0\0\0\0\x07\x02\x00rest", indexed=True).indexes == (0,)


@given(names, st.none() | indexes, st.booleans(), st.binary(max_size=20))
def test_written_registry_frame_is_parsed(
    name: int | bytes, own: list[int] | None, zigzag: bool, rest: bytes
) -> None:
    data = frame_bytes(name, own, zigzag=zigzag)
    found = parse_frame(data + rest, indexed=own is not None, zigzag=zigzag)
    assert found == Frame(data, name, () if own is None else tuple(own))


@settings(max_examples=40)
@given(
    st.lists(
        st.none()
        | st.binary(max_size=12)
        | st.builds(
            lambda name, own, rest: frame_bytes(name, own) + rest,
            st.integers(0, 2) | names,
            indexes,
            st.binary(max_size=4),
        ),
        max_size=50,
    ),
    st.integers(0, 3),
    st.booleans(),
)
def test_registry_frames_of_column_equal_those_of_single_rows(
    rows: list[bytes | None], skip: int, indexed: bool
) -> None:
    found = frames_of(pa.array(rows, pa.binary()).slice(skip), indexed=indexed)
    assert len({frame.data for frame in found.frames}) == len(found.frames)
    for row, number in zip(rows[skip:], found.numbers.tolist(), strict=True):
        if row is None:
            assert number == -1
            continue
        try:
            expected = parse_frame(row, indexed=indexed)
        except ValueError:
            assert number == -2
        else:
            assert found.frames[number] == expected


def test_column_with_many_different_frames_is_parsed_completely() -> None:
    rows = [frame_bytes(number % 100, None) + b"x" for number in range(1_000)]
    found = frames_of(pa.array(rows, pa.binary()), indexed=False)
    assert [found.frames[n].name for n in found.numbers.tolist()] == [n % 100 for n in range(1_000)]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "got no bytes"),
        (b'{"a": 1}', "looks like plain JSON"),
        (b"\0\0\0", "got only 3 bytes"),
        (b"\x01" + 15 * b"g", "got only 16 bytes"),
        (b"\x03" + 20 * b"x", "first byte is 0x03"),
        (b"\0\0\0\0\x01", "ends within the message indexes"),
        (b"\0\0\0\0\x01\x04\x00", "ends within the message indexes"),
        (b"\0\0\0\0\x01\x01\x00", "before 2021"),
        (b"\0\0\0\0\x01\x02\x01", "index -1"),
        (b"\0\0\0\0\x01\xff\xff\xff\xff\xff\x01", "more than 5 bytes"),
        (b"\0\0\0\0\x01\xfe\xff\xff\xff\x0f", "indexes"),
    ],
)
def test_invalid_registry_frame_is_refused_with_reason(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_frame(data, indexed=True)
