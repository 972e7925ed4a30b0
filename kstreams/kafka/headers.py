"""The headers of produced records, made of an Arrow column without an object per null."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

__all__ = ("ID_HEADER", "HeaderList", "header_lists")

ID_HEADER = "kstreams-id"
"""Name of the header with a record's id, the same on every copy of it."""

HeaderList = list[tuple[str, "str | bytes | None"]]
"""Headers as librdkafka's client takes them."""


def header_lists(column: pa.Array, ids: Sequence[bytes]) -> Iterator[HeaderList]:
    """
    Yield each row's headers, its id last.

    An id that came with the record, from the app that wrote it, is left out.

    Args:
        column: Of `kstreams.task.queues.HEADERS_TYPE`; null is no headers.
        ids: One a row.

    """
    if column.null_count == len(column):
        for own in ids:
            yield [(ID_HEADER, own)]
        return
    pairs = column.flatten()
    names = pairs.field("key").to_numpy(zero_copy_only=False)
    values = pairs.field("value").to_numpy(zero_copy_only=False)
    kept = names != ID_HEADER
    lengths = column.value_lengths().fill_null(0).to_numpy()
    owners = np.repeat(np.arange(len(column)), lengths)[kept]
    ends = np.cumsum(np.bincount(owners, minlength=len(column))).tolist()
    items: HeaderList = list(zip(names[kept].tolist(), values[kept].tolist(), strict=True))
    start = 0
    for own, end in zip(ids, ends, strict=True):
        yield [*items[start:end], (ID_HEADER, own)]
        start = end
