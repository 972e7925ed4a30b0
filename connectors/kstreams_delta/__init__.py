"""Results in tables of Delta Lake, exactly once.

Read `DeltaTable` first: a sink that appends rows to a table. Tasks write files while a batch runs;
its commit adds all files in one version of the table, together with the batch number of each task.
So a repeated or late batch is recognized, and changes nothing. Depends on deltalake, pyarrow and
the core's contracts, not on Spark.

Example:
    >>> from dataclasses import dataclass
    >>> from kstreams_delta import DeltaTable
    >>> @dataclass(frozen=True)
    ... class Total:
    ...     word: str
    ...     total: int
    >>> totals = DeltaTable("/data/totals", Total, row=lambda word, total: Total(word, total))
    >>> totals.guarantee
    'exactly-once'
    >>> totals
    DeltaTable('/data/totals', ('word', 'total'), partition_by=())
"""

from __future__ import annotations

from kstreams_delta.table import DeltaTable, NewColumns

__all__ = ("DeltaTable", "NewColumns")
