"""Results in tables of Apache Iceberg, exactly once.

Read `IcebergTable` first: a sink that appends rows to a table of a catalog. Tasks write files while
a batch runs; when it is committed, one snapshot of the table has them all, and the table's
properties the batch's number by task. A batch that comes again, or late, is found there and changes
nothing. Depends on pyiceberg, pyarrow and the core's contracts, on nothing of Spark.

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
