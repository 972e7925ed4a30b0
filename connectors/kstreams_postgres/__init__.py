"""PostgreSQL as a source of table changes and as an exactly-once sink.

Read `PostgresTable` first: a sink that keeps a row a key, or appends rows. What a task gives it in
a batch is written in one transaction together with a fence: a row that says which commit was
written last. An attempt that comes again, or late, finds it and changes nothing.

`changes` reads a table: the rows that it has, then what becomes of them, as `Change`s, by a slot of
logical replication. `rows` polls one to which rows are only added. Depends on psycopg, msgspec and
the core's contracts, on nothing of Spark.

Example:
    >>> from kstreams_postgres import PostgresTable
    >>> totals = PostgresTable(
    ...     "postgresql://app:secret@db/shop",
    ...     "totals",
    ...     key=("word",),
    ...     row=lambda word, total: {"total": total},
    ... )
    >>> totals.guarantee
    'exactly-once'
    >>> totals
    PostgresTable(table='totals', key=('word',), visible='at-write', fence='kstreams_fence')
"""

from __future__ import annotations

from kstreams_postgres.change import Change, Operation, change_serde
from kstreams_postgres.change_log import PostgresChanges, SlotStatus, changes
from kstreams_postgres.poll_log import PostgresRows, rows
from kstreams_postgres.table import Columns, PostgresTable, Visible

__all__ = (
    "Change",
    "Columns",
    "Operation",
    "PostgresChanges",
    "PostgresRows",
    "PostgresTable",
    "SlotStatus",
    "Visible",
    "change_serde",
    "changes",
    "rows",
)
