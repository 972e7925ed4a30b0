"""Pieces of a table: all rows in order, each within a limit or a single row."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kstreams.pieces import pieces

SIZES = st.lists(st.lists(st.integers(0, 2_000), max_size=30), max_size=5)


@given(SIZES, st.integers(1, 5_000))
def test_pieces_contain_all_rows_in_order_within_byte_limit(
    chunks: list[list[int]], most: int
) -> None:
    arrays = [pa.array([bytes(size) for size in sizes], pa.binary()) for sizes in chunks]
    values = pa.chunked_array(arrays, pa.binary())
    table = pa.table({"value": values, "n": pa.array(range(len(values)), pa.int64())})
    found = list(pieces(table, most))
    assert [n for piece in found for n in piece.column("n").to_pylist()] == list(range(len(values)))
    assert all(piece.num_rows == 1 or piece.nbytes <= most for piece in found)
    assert all(piece.num_rows for piece in found)
    assert pa.concat_tables([table.slice(0, 0), *found]).equals(table)


def test_pieces_of_small_table_is_the_table() -> None:
    table = pa.table({"value": [b"a", b"b"]})
    (found,) = pieces(table, 1_000)
    assert found is table
