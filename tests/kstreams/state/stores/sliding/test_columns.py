"""A sliding store has the same rows whether written and read one by one or as columns."""

from __future__ import annotations

import numpy as np
import pytest

from kstreams import INT64, TEXT
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import INT32
from kstreams.serde.layout import slice_layout
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.sliding.columns import SliceRows, SlidingColumns
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.sliding.rows import SlidingRows

SPEC = sliding_store("s", key=TEXT, value=INT64)


def stores() -> tuple[SlidingRows[str, int], SlidingColumns]:
    rows: SlidingRows[str, int] = SlidingRows.of(SPEC.open(Overlay(MemoryStore(["s"]))))
    return rows, SlidingColumns(rows)


def test_sliding_store_rows_put_singly_are_read_by_columns() -> None:
    store, columns = stores()
    store.put("a", ((3, 30), (5, 50)), done_ms=2, timer_ms=9)
    store.put("c", ((7, 70),), done_ms=4, timer_ms=11)
    timers, dones, slices = columns.read([b"a", b"b", b"c"])
    assert timers == [9, None, 11]
    assert dones.tolist() == [2, 0, 4]
    assert slices.rows.tolist() == [0, 0, 2]
    assert slices.times.tolist() == [3, 5, 7]
    assert slices.state[0].tolist() == [30, 50, 70]
    assert columns.due(9) == [b"a"]


def test_sliding_store_rows_written_by_columns_are_read_singly() -> None:
    store, columns = stores()
    store.put("b", ((1, 1),), done_ms=0, timer_ms=5)
    slices = SliceRows(np.array([0, 0]), np.array([3, 5]), (np.array([30, 50]),))
    columns.write([b"a", b"b"], [None, 5], [9, 0], slices, done_ms=2)
    assert store.get("a") == (9, 2, ((3, 30), (5, 50)))
    assert store.get("b") is None
    assert store.due(100) == ["a"]


def test_sliding_row_with_changed_timer_is_due_only_at_new_time() -> None:
    store, columns = stores()
    store.put("a", ((3, 30),), done_ms=2, timer_ms=9)
    slices = SliceRows(np.array([0]), np.array([4]), (np.array([40]),))
    columns.write([b"a"], [9], [12], slices, done_ms=3)
    assert columns.due(11) == []
    assert store.due(12) == ["a"]


def test_error_of_number_out_of_range_names_store() -> None:
    spec = sliding_store("narrow", key=TEXT, value=INT32)
    columns = SlidingColumns.of(spec.open(Overlay(MemoryStore(["narrow"]))))
    slices = SliceRows(np.array([0]), np.array([4]), (np.array([1 << 31]),))
    with pytest.raises(SerializationError) as caught:
        columns.write([b"a"], [None], [12], slices, done_ms=3)
    assert caught.value.where.store == "narrow"


def test_sliding_columns_reject_values_of_variable_width() -> None:
    spec = sliding_store("texts", key=TEXT, value=TEXT)
    with pytest.raises(TypeError, match="vary in width"):
        SlidingColumns.of(spec.open(Overlay(MemoryStore(["texts"]))))


def test_truncated_list_of_slices_is_rejected() -> None:
    layout = slice_layout(INT64)
    assert layout is not None
    whole = layout.joined((np.array([1, 2]), np.array([3, 4])), np.array([2, 0]))
    assert [len(data) for data in whole] == [2 * layout.width, 0]
    rows, columns = layout.divided(whole)
    assert (rows.tolist(), [column.tolist() for column in columns]) == ([0, 0], [[1, 2], [3, 4]])
    with pytest.raises(DeserializationError, match=f"{layout.width} bytes"):
        layout.divided([whole[0][:-1]])
    with pytest.raises(DeserializationError, match="expected 16 as the length"):
        layout.divided([bytes(layout.width)])
