"""A sink for Cassandra and databases with its protocol, such as ScyllaDB; effectively once.

Read `CassandraTable` first: a sink that keeps a row a key. What it writes has the batch's own
timestamp, so that an older batch takes the place of no newer one, deletes included. Depends on
cassandra-driver and on the core's contracts, on nothing of Spark.

Example:
    >>> from kstreams_cassandra import CassandraTable
    >>> totals = CassandraTable(
    ...     ["cassandra"],
    ...     "shop.totals",
    ...     key=("word",),
    ...     row=lambda word, total: {"total": total},
    ... )
    >>> totals.guarantee
    'effectively-once'
    >>> totals
    CassandraTable('shop.totals', key=('word',), lives='kstreams_lives')
"""

from __future__ import annotations

from kstreams_cassandra.rows import Columns
from kstreams_cassandra.table import CassandraTable

__all__ = ("CassandraTable", "Columns")
