"""Emission at the end of a batch: the last result of each window that the batch changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kstreams.windows.columns.results import Results, joined, order_by

__all__ = ("last_results",)


def last_results(parts: Sequence[Results]) -> Results:
    """Return the last result of each key and window: deletions first, then by start, key and end.

    A session that was created and deleted within the batch is omitted.
    """
    whole = joined(parts)
    gone = whole.values.is_null().to_numpy(zero_copy_only=False)
    if len(parts) > 1 or not whole.unique:
        codes = whole.keys.dictionary_encode().indices.to_numpy()
        handles = np.stack((codes.astype(np.int64), whole.starts, whole.ends), axis=1)
        _, first, groups = np.unique(handles, axis=0, return_index=True, return_inverse=True)
        last = np.zeros(len(first), np.int64)
        np.maximum.at(last, groups.reshape(-1), np.arange(len(whole)))
        last = last[~gone[last] | gone[first]]
        whole, gone = whole.take(last), gone[last]
    return whole.take(order_by(~gone, whole.starts, whole.keys, whole.ends))
