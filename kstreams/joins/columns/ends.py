"""The net change of each key in a batch, by columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kstreams.joins.columns.changes import Changes
from kstreams.joins.columns.key_numbers import KeyNumbers
from kstreams.serde.base import Serde
from kstreams.serde.object_columns import ObjectColumns
from kstreams.serde.objects import object_column, objects_of

__all__ = ("ends_of",)


def ends_of(some: Sequence[Changes], key: Serde[Any], held: ObjectColumns) -> Changes:
    """Return one change per key: its first old value, its last new value and its last time.

    The changes are in the order in which their keys first occurred.

    Args:
        some: The changes of the batch, in order.
        key: Serde of the keys.
        held: Holds keys that have no Arrow type.
    """
    keys, news, olds, times = changes = Changes.joined(some, held)
    known = keys if key.hashes_by_bytes else key.ordered.serialize_many(objects_of(keys))
    numbers = KeyNumbers.of(known)
    if numbers.are_different:
        return changes
    first, last = numbers.first, numbers.last
    return Changes(
        keys.take(pa.array(last)),
        object_column(news)[last].tolist(),
        object_column(olds)[first].tolist(),
        times[last],
    )
