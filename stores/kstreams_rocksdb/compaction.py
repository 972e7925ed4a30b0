"""Limits a store's number of sorted runs, although its database is often open only briefly.

Closing a database cancels a running merge. Without a wait for merges, the number of runs would grow
with each batch, and each read would search all of them.
"""

from __future__ import annotations

import time

from kstreams_rocksdb.native import rocksdict

__all__ = ("run_count", "wait_until_merged")

_POLL_SECONDS = 0.0005
_IDLE_POLLS = 400


def wait_until_merged(family: rocksdict.Rdict, max_runs: int) -> None:
    """Wait for the merges that are due after the last flush; usually there are none.

    A merge is due if there are more than `max_runs` runs; RocksDB itself reports a pending merge
    one run too early. If RocksDB does not start a due merge, for example after a disk error, the
    wait ends, and the next batch waits for the merge.
    """
    idle = 0
    while idle < _IDLE_POLLS:
        if family.property_int_value("rocksdb.num-running-compactions"):
            idle = 0
        elif run_count(family) <= max_runs:
            return
        else:
            idle += 1
        time.sleep(_POLL_SECONDS)


def run_count(family: rocksdict.Rdict) -> int:
    """Return the number of sorted runs that a read may have to search."""
    young = int(family.property_value("rocksdb.num-files-at-level0") or 0)
    levels = (family.property_value(f"rocksdb.num-files-at-level{n}") for n in range(1, 7))
    return young + sum(files not in (None, "0") for files in levels)
