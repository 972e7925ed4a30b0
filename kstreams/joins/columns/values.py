"""The objects of a column of values, as a source or a column processor has it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.processors.columns import ColumnSource
from kstreams.serde.objects import objects_of

__all__ = ("values_of",)


def values_of(column: pa.ChunkedArray, source: ColumnSource | None) -> list[Any]:
    """Return a column's objects.

    Args:
        column: The values.
        source: What the rows come from; None for another column processor.

    Raises:
        DeserializationError: A value is not what the source's serde reads.
    """
    if source is None or source.value.arrow_type != pa.binary():
        return objects_of(column)
    return source.value.deserialize_many(column.combine_chunks())
