"""Divide tables into pieces that fit into memory and into Arrow columns, which end at 2 GiB."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

__all__ = ("PIECE_BYTES", "pieces")

PIECE_BYTES = 64 * 1024 * 1024
"""The default maximum size of a piece of a table, in bytes."""


def pieces(table: pa.Table, most: int | None = None) -> Iterator[pa.Table]:
    """Yield the rows of a table in order, as views with at most `most` bytes or one row.

    A small table is yielded unchanged; a table without rows yields nothing.

    Args:
        table: The table to divide.
        most: The maximum bytes of a piece; `PIECE_BYTES` by default.
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
    """Divide a batch in halves until each part has at most `most` bytes or is one row."""
    count = batch.num_rows
    if count <= 1 or batch.nbytes <= most:
        if count:
            yield batch
        return
    yield from _halves(batch.slice(0, count // 2), most)
    yield from _halves(batch.slice(count // 2), most)
