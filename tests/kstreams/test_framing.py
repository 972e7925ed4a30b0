"""Frames in headers: columns and records are converted equally, in both directions."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kstreams.framing import Framing, HeaderFrames
from kstreams.raw_batch import headers_array, headers_of
from kstreams.record import Headers
from kstreams.serde.objects import objects_of

FRAMES = HeaderFrames(key="k-id", value="v-id")

names = st.sampled_from(["k-id", "v-id", "trace", ""])
headers = st.lists(st.tuples(names, st.none() | st.binary(max_size=3)), max_size=4).map(tuple)
data = st.none() | st.binary(max_size=4)
rows = st.lists(st.tuples(data, data, headers), max_size=6)


def by_records(rows: list[tuple[bytes | None, bytes | None, Headers]]) -> list[object]:
    return [FRAMES.read_record(*row) for row in rows]


def columns(
    rows: Sequence[tuple[bytes | None, bytes | None, Headers]],
) -> tuple[pa.Array, pa.Array, pa.Array]:
    keys, values = (pa.array([row[n] for row in rows], pa.binary()) for n in (0, 1))
    return keys, values, headers_array([row[2] for row in rows])


def as_rows(found: tuple[pa.Array, pa.Array, pa.Array]) -> list[object]:
    return list(zip(objects_of(found[0]), objects_of(found[1]), headers_of(found[2]), strict=True))


@given(rows)
def test_reading_by_columns_equals_reading_by_records(
    rows: list[tuple[bytes | None, bytes | None, Headers]],
) -> None:
    assert as_rows(FRAMES.read(*columns(rows))) == by_records(rows)
    assert as_rows(Framing.read(FRAMES, *columns(rows))) == by_records(rows)


@given(rows, st.binary(max_size=2), st.binary(max_size=2))
def test_writing_by_columns_equals_writing_by_records(
    rows: list[tuple[bytes | None, bytes | None, Headers]], key: bytes, value: bytes
) -> None:
    framed = [
        (None if k is None else key + k, None if v is None else value + v, own)
        for k, v, own in rows
    ]
    expected = [FRAMES.write_record(*row, (key, value)) for row in framed]
    assert as_rows(FRAMES.write(*columns(framed), (key, value))) == expected
    assert as_rows(Framing.write(FRAMES, *columns(framed), (key, value))) == expected


@given(rows)
def test_written_frames_are_read_unchanged(
    rows: list[tuple[bytes | None, bytes | None, Headers]],
) -> None:
    plain = [(k, v, ()) for k, v, _ in rows]
    framed = [(None if k is None else b"K" + k, v, ()) for k, v, _ in plain]
    written = FRAMES.write(*columns(framed), (b"K", b""))
    assert objects_of(written[0]) == [k for k, _, _ in plain]
    assert as_rows(FRAMES.read(*written)) == framed


def test_framed_slices_of_columns_are_read_correctly() -> None:
    rows: list[tuple[bytes | None, bytes | None, Headers]] = [
        (b"0", b"0", (("v-id", b"A"),)),
        (b"1", b"1", ()),
        (b"2", b"2", (("trace", b"t"), ("v-id", b"B"), ("v-id", b"C"))),
    ]
    keys, values, headers = (column.slice(1) for column in columns(rows))
    assert as_rows(FRAMES.read(keys, values, headers)) == by_records(rows[1:])
