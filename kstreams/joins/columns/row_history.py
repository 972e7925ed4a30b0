"""Table rows as of any position of a batch, reconstructed from the batch's changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kstreams._types import Ints, Objects
from kstreams.joins.columns.changes import Changes, parted
from kstreams.serde.objects import object_column
from kstreams.state.stores.table_access import Row

__all__ = ("RowHistory",)

_PLACE_BITS = 40


class RowHistory:
    """The rows of one table during a batch, both changed and unchanged.

    Args:
        changes: The changes of the table.
        old_times: The times of the rows that the changes replaced, ms.
        codes: The key number of each change.
        places: The batch position of each change.
        read: Takes the numbers of keys without changes, and returns their rows.
    """

    def __init__(
        self,
        changes: Changes,
        old_times: Ints,
        codes: Ints,
        places: Ints,
        read: Callable[[Ints], Sequence[Row | None]],
    ) -> None:
        self._values = [object_column(changes.news), object_column(changes.olds)]
        self._times = [changes.times, old_times]
        packed = codes << _PLACE_BITS | places
        self._order = np.argsort(packed, kind="stable")
        self._packed = packed[self._order]
        self._read = read

    def at(self, codes: Ints, places: Ints) -> tuple[Objects, Ints]:
        """Return the values of keys at batch positions (None for no row) and their times (ms).

        Args:
            codes: The numbers of keys.
            places: The batch position of each lookup; this table has no change at that position.
        """
        packed, order, count = self._packed, self._order, len(self._packed)
        first = np.searchsorted(packed, codes << _PLACE_BITS)
        is_changed = first < count
        is_changed[is_changed] = packed[first[is_changed]] >> _PLACE_BITS == codes[is_changed]
        changed, others = np.flatnonzero(is_changed), np.flatnonzero(~is_changed)
        first = first[changed]
        last = np.searchsorted(packed, codes[changed] << _PLACE_BITS | places[changed]) - 1
        found = np.empty(len(codes), np.int64)
        found[changed] = np.where(last >= first, order[last], count + order[first])
        asked, which = np.unique(codes[others], return_inverse=True)
        found[others] = 2 * count + which
        values, times = parted(self._read(asked)) if len(asked) else ([], [])
        return (
            np.concatenate((*self._values, object_column(values)))[found],
            np.concatenate((*self._times, np.array(times, np.int64)))[found],
        )
