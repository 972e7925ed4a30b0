"""Rows of a queue whose headers or frames cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.errors import DeserializationError
from kstreams.raw_batch import UNREADABLE, header_pairs

__all__ = ("readable_rows", "unreadable_rows")


def readable_rows(table: pa.Table) -> pa.Array | None:
    """Return a mask of the rows with readable headers and frames; None if all are readable."""
    headers = table.column("headers")
    good = np.ones(len(headers), bool)
    if headers.null_count < len(headers):
        good = np.concatenate([_readable(chunk) for chunk in headers.iterchunks()])
    if UNREADABLE in table.column_names:
        good &= table.column(UNREADABLE).is_null().to_numpy()
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
        why = table.column(UNREADABLE)[row].as_py() if UNREADABLE in table.column_names else None
        if why is not None:
            yield row, DeserializationError(why)
            continue
        pairs = table.column("headers")[row].as_py()
        name = next(pair["value"] for pair in pairs if pair["key"] is None)
        shown = f"{name!r} " if name else ""
        yield (
            row,
            DeserializationError(
                f"headers: the name {shown}is not UTF-8",
                hint="let the source skip such records with on_error='skip', or write them to a "
                "dead-letter topic with on_error=DeadLetter(topic).",
            ),
        )
