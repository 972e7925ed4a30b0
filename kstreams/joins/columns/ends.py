"""Of the changes of a batch, by columns, what is left of each key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kstreams.joins.columns.changes import Changes
from kstreams.joins.compaction import by_key
from kstreams.serde.base import Serde

__all__ = ("ends_of",)


def ends_of(some: Sequence[Changes], key: Serde[Any]) -> Changes:
    """Return one change a key: from its first old value to its last new one, of the last time.

    In the order in which the keys first came.

    Args:
        some: Changes, in order.
        key: Serde of the keys.
    """
    keys, news, olds, times = changes = Changes.joined(some)
    known = keys if key.hashes_by_bytes else list(map(by_key(key), keys))
    count = len(keys)
    last = dict(zip(known, range(count), strict=True))
    if len(last) == count:
        return changes
    first = dict(zip(reversed(known), range(count - 1, -1, -1), strict=True))
    firsts, lasts = [first[each] for each in last], list(last.values())
    return Changes(
        [keys[row] for row in lasts],
        [news[row] for row in lasts],
        [olds[row] for row in firsts],
        [times[row] for row in lasts],
    )
