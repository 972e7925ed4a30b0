"""Join stores written by columns: blocks have the contents of rows, and damage is detected."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import TEXT
from kstreams.errors import DeserializationError
from kstreams.record import Headers
from kstreams.serde.objects import objects_of
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.join import tail
from kstreams.state.stores.join.blocks import BLOCK_BYTES, Block, read_block, write_block
from kstreams.state.stores.join.coding import (
    WAITING,
    JoinKeySerde,
    read_headers,
    write_headers,
)
from kstreams.state.stores.join.columns import JoinColumns
from kstreams.state.stores.join.kind import join_store
from kstreams.state.stores.join.rows import JoinRows, Open
from kstreams.state.stores.join.setup import Setup
from kstreams.state.stores.join.tail import Elements, JoinTail

SPEC = join_store("s", key=TEXT, left=TEXT, right=TEXT)
SETUP = Setup.of(20, 20, 5)

Put = tuple[int, str, int, int, int]
"""Side, key, time, fate, and number of repetitions."""

rows = st.tuples(
    st.integers(0, 1),
    st.sampled_from(["a", "b", "ab", ""]),
    st.integers(-50, 200),
    st.integers(0, 1),
    st.sampled_from([1, 1, 1, 40]),
)
batches = st.lists(st.lists(rows, max_size=6), min_size=1, max_size=4)


def ints(values: list[int]) -> Any:
    return np.array(values, np.int64)


def headers(number: int) -> Headers:
    """Return the headers of a record: none for every third."""
    return (("number", str(number).encode()), ("none", None)) if number % 3 else ()


def put(overlay: Overlay, batch: list[Put], *, settles: bool = True) -> None:
    """Process a batch, which optionally settles the oldest waiting records in blocks."""
    kept: JoinRows[str, str, str] = JoinRows.of(SPEC.open(overlay))
    blocks = JoinTail(kept, JoinColumns(kept), kept.set_up(SETUP))
    clocks, found = kept.clocks(), blocks.read()
    every = [row[:4] for row in batch for _ in range(row[4])]
    moved = clocks
    for number, (side, _, time, _) in enumerate(every, clocks.number):
        moved = moved.after(side, time, number)
    sides, names, times, fates = (list(c) for c in zip(*every, strict=True)) if every else [[]] * 4
    numbers = list(range(clocks.number, clocks.number + len(every)))
    fresh = Elements(
        ints(sides),
        TEXT.serialize_many(names),
        ints(times),
        ints(numbers),
        ints(fates),
        TEXT.serialize_many([f"v{n}" for n in numbers]),
        pa.array([write_headers(headers(n)) for n in numbers], pa.binary()),
    )
    lasting = blocks.lasting(fresh.sides, fresh.times, fresh.fates == WAITING, moved)
    settled = (found.elements.fates == WAITING) & settles
    settled &= found.elements.numbers == found.elements.numbers[settled].min(initial=1 << 60)
    kept.set_clocks(moved)
    blocks.advance(found, settled, fresh.take(np.flatnonzero(lasting)), moved)


def content(overlay: Overlay) -> list[Any]:
    """Return the contents of a store, whatever their layout; expired ones may be included."""
    kept: JoinRows[str, str, str] = JoinRows.of(SPEC.open(overlay))
    clocks, setup = kept.clocks(), kept.setup() or SETUP
    return [
        (key, found)
        for key, found in SPEC.open(overlay).fetch_all()
        if found.timestamp >= clocks.newest(found.side == "right") - setup.memory
    ]


@pytest.mark.long
@pytest.mark.parametrize("room", [0, 600, 1 << 20])
@given(given_batches=batches)
def test_join_store_has_same_contents_in_blocks_and_in_rows(
    room: int, given_batches: list[list[Put]]
) -> None:
    found: list[list[Any]] = []
    for limit in (1 << 20, room):
        base = MemoryStore(["s"])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tail, "TAIL_BYTES", limit)
            for batch in given_batches:
                overlay = Overlay(base)
                put(overlay, batch, settles=room == 1 << 20)  # of blocks only
                base.write(overlay.changes())
        found.append(content(Overlay(base)))
        unpacked = Overlay(base)
        kept: JoinRows[str, str, str] = JoinRows.of(SPEC.open(unpacked))
        kept.unpack()
        assert content(unpacked) == found[0]
        assert not [data for data, _ in unpacked.changes()["s"].pairs if data[:1] == b"\x03"]
        waiting = {row for row in kept.scan() if row.element[2] == WAITING}
        entries = set(kept.open_entries(None, None))
        for side, _, key, (time, number, _, _), _ in waiting:
            close = SETUP.close(side, time)
            assert Open(close, side, time, number, key, headers(number)) in entries
        for key in ("a", "b", "ab", ""):
            own = [pair for pair in found[0] if pair[0] == key]
            mine = [pair for pair in SPEC.open(Overlay(base)).fetch(key) if pair in own]
            assert mine == own
    assert found[1] == found[0]


@given(given_batches=batches)
def test_join_elements_cached_in_memory_equal_those_read_from_blocks(
    given_batches: list[list[Put]],
) -> None:
    base = MemoryStore(["s"])
    kept = Overlay(base)
    for batch in given_batches:
        put(kept, batch)
        base.write(kept.changes())
        kept.committed()
    found = []
    for overlay in (kept, Overlay(base)):
        joined: JoinRows[str, str, str] = JoinRows.of(SPEC.open(overlay))
        read = JoinTail(joined, JoinColumns(joined), SETUP).read()
        elements = read.elements
        columns = elements.sides, elements.times, elements.numbers, elements.fates
        listed = [column.tolist() for column in columns]
        keys, values = objects_of(elements.keys), objects_of(elements.values)
        found.append((sorted(zip(*listed, keys, values, strict=True)), read.handles))
    assert found[0] == found[1]


def test_new_elements_are_split_into_blocks_within_message_limit() -> None:
    base = MemoryStore(["s"])
    overlay = Overlay(base)
    joined: JoinRows[str, str, str] = JoinRows.of(SPEC.open(overlay))
    blocks = JoinTail(joined, JoinColumns(joined), joined.set_up(SETUP))
    sizes = [BLOCK_BYTES // 3] * 5 + [3 * BLOCK_BYTES, 1]
    count = len(sizes)
    fresh = Elements(
        ints([0] * count),
        TEXT.serialize_many(["k"] * count),
        ints([1] * count),
        ints(list(range(count))),
        ints([0] * count),
        TEXT.serialize_many(["x" * size for size in sizes]),
    )
    clocks = joined.clocks().after(0, 1, count)
    joined.set_clocks(clocks)
    blocks.advance(blocks.read(), np.zeros(0, bool), fresh, clocks)
    base.write(overlay.changes())
    found = [len(value) for key, value in base.scan("s", b"\x03", b"\x04")]
    assert len(found) == 5
    assert sum(size > BLOCK_BYTES * 1.1 for size in found) == 1
    assert [len(r.left or "") for _, r in SPEC.open(Overlay(base)).fetch_all()] == sizes


def block(headers: pa.Array | None = None) -> bytes:
    return write_block(
        Block(
            TEXT.serialize_many(["a", "bc"]),
            ints([1, 2]),
            ints([3, 4]),
            ints([0, 1]),
            TEXT.serialize_many(["", "xyz"]),
            ints([2]),
            headers,
        )
    )


SOME_HEADERS = pa.array([b"", write_headers((("name", b"value"),))], pa.binary())


def test_join_block_has_headers_of_waiting_records() -> None:
    found = read_block(block(SOME_HEADERS))
    assert found.headers is not None
    assert list(map(read_headers, objects_of(found.headers))) == [(), (("name", b"value"),)]
    none = pa.array([b"", b""], pa.binary())
    assert block(none) == block()
    assert read_block(block()).headers is None


def test_migrated_store_has_headers_of_waiting_records() -> None:
    came = Overlay(MemoryStore(["s"]))
    put(came, [(0, "a", 10, 1, 3), (1, "b", 12, 0, 1)])
    expected = sorted((n, headers(n)) for n in range(3))
    for _ in range(2):  # first blocks, then rows
        other = Overlay(MemoryStore(["s"]))
        fill = SPEC.kind.filling(SPEC, other)
        for content in SPEC.kind.contents(SPEC, came):
            fill(content)
        kept: JoinRows[str, str, str] = JoinRows.of(SPEC.open(other))
        found = kept.open_entries(None, None)
        assert sorted((entry.number, entry.headers) for entry in found) == expected
        came = other


@pytest.mark.parametrize("headers", [None, SOME_HEADERS], ids=["plain", "headers"])
def test_truncated_or_changed_block_is_rejected(headers: pa.Array | None) -> None:
    data = block(headers)
    assert objects_of(read_block(data).keys) == [b"a", b"bc"]
    for end in range(len(data)):
        with pytest.raises(DeserializationError):
            read_block(data[:end])
    ends = data.rindex(struct.pack("<II", 1, 3))  # in the keys
    with pytest.raises(DeserializationError, match="positions do not match"):
        read_block(data[:ends] + struct.pack("<II", 4, 3) + data[ends + 8 :])
    with pytest.raises(DeserializationError, match="expected a block"):
        read_block(b"\x02" + data[1:])


def test_block_of_sliced_columns_contains_only_the_slice() -> None:
    whole = pa.array([b"aa", b"b", b"", b"cc"])
    one = Block(whole[1:3], ints([1, 2]), ints([3, 4]), ints([0, 0]), whole[2:4], ints([]))
    found = read_block(write_block(one))
    assert (objects_of(found.keys), objects_of(found.values)) == ([b"b", b""], [b"", b"cc"])


def test_block_of_unknown_side_is_rejected() -> None:
    with pytest.raises(DeserializationError, match="expected the key of a join store's row"):
        JoinKeySerde(TEXT).deserialize(b"\x03\x02" + bytes(16))
