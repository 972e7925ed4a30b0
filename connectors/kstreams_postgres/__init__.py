"""PostgreSQL as a source of table changes and as an exactly-once sink.

Read `PostgresTable` first: a sink that writes one row per key, or appends rows. It writes a task's
results of a batch in one transaction together with a fence, a row that stores the last written
commit. A repeated or late attempt finds the fence and changes nothing.

`changes` reads a table's rows and then its changes, as `Change`s, through a logical replication
slot. `rows` polls an append-only table. Depends on psycopg, msgspec and the core's contracts, not
on Spark.

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
