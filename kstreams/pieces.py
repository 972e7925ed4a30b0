"""Tables cut into pieces of bounded size: Arrow's columns end at 2 GiB, and memory before."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

__all__ = ("PIECE_BYTES", "pieces")

PIECE_BYTES = 64 * 1024 * 1024
"""How large a piece is that is worked on at once."""


def pieces(table: pa.Table, most: int | None = None) -> Iterator[pa.Table]:
    """Yield the rows of a table in order, in views of so many bytes at most, or of one row.

    A table that is small enough comes as it is, and one without rows not at all.

    Args:
        table: Any.
        most: How many bytes a piece may have; `PIECE_BYTES` by default.
    """
    most = PIECE_BYTES if most is None else most
    if table.nbytes <= most:
        if table.num_rows:
            yield table
        return
    group: list[pa.RecordBatch] = []
    held = 0
    for whole in table.to_batches():
        for batch in _halves(whole, most):
            size = batch.nbytes
            if group and held + size > most:
                yield pa.Table.from_batches(group, table.schema)
                group, held = [], 0
            group.append(batch)
            held += size
    if group:
        yield pa.Table.from_batches(group, table.schema)


def _halves(batch: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """Cut a batch in halves until each is small enough, or one row."""
    count = batch.num_rows
    if count <= 1 or batch.nbytes <= most:
        if count:
            yield batch
        return
    yield from _halves(batch.slice(0, count // 2), most)
    yield from _halves(batch.slice(count // 2), most)
