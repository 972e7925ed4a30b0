"""Results in tables of Apache Iceberg, exactly once.

Read `IcebergTable` first: a sink that appends rows to a table of a catalog. Tasks write files while
a batch runs; its commit adds all files in one snapshot of the table, and the batch number of each
task to the table's properties. So a repeated or late batch is recognized, and changes nothing.
Depends on pyiceberg, pyarrow and the core's contracts, not on Spark.

Example:
    >>> from dataclasses import dataclass
    >>> from kstreams_iceberg import IcebergTable
    >>> @dataclass(frozen=True)
    ... class Total:
    ...     word: str
    ...     total: int
    >>> totals = IcebergTable("shop.totals", Total, row=Total, catalog={"uri": "https://catalog"})
    >>> totals.guarantee
    'exactly-once'
    >>> totals
    IcebergTable('shop.totals', ('word', 'total'), partition_by=())
"""

from __future__ import annotations

from kstreams_iceberg.table import IcebergTable, NewColumns

__all__ = ("IcebergTable", "NewColumns")
