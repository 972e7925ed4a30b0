"""Rows of a queue whose headers cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.errors import DeserializationError
from kstreams.raw_batch import header_pairs

__all__ = ("readable_rows", "unreadable_rows")


def readable_rows(table: pa.Table) -> pa.Array | None:
    """Return which rows of a queue's table have headers that can be read; None if all have."""
    headers = table.column("headers")
    if headers.null_count == len(headers):
        return None
    good = np.concatenate([_readable(chunk) for chunk in headers.iterchunks()])
    return None if good.all() else pa.array(good)


def _readable(lists: pa.ListArray) -> npt.NDArray[np.bool_]:
    good = np.ones(len(lists), bool)
    rows, pairs = header_pairs(lists)
    names = pairs.field("key")
    if names.null_count:
        good[rows[names.is_null().to_numpy(zero_copy_only=False)]] = False
    return good


def unreadable_rows(
    table: pa.Table, readable: pa.Array
) -> Iterator[tuple[int, DeserializationError]]:
    """Yield number and error of each row that is not readable, in order."""
    for row in np.flatnonzero(~readable.to_numpy(zero_copy_only=False)).tolist():
        pairs = table.column("headers")[row].as_py()
        name = next(pair["value"] for pair in pairs if pair["key"] is None)
        shown = f"{name!r} " if name else ""
        yield (
            row,
            DeserializationError(
                f"headers: the name {shown}is not UTF-8",
                hint="let the source skip such records or set them aside: on_error='skip' or "
                "DeadLetter(topic). Key and value can be read.",
            ),
        )
