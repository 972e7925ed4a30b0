"""A sink for Cassandra and databases with its protocol, such as ScyllaDB; effectively once.

Read `CassandraTable` first: a sink that writes one row per key. Its writes carry the batch's own
timestamp, so an older batch never replaces a newer one, including deletes. Depends on
cassandra-driver and on the core's contracts, not on Spark.

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
    CassandraTable('shop.totals', key=('word',), epochs='kstreams_epochs')
"""

from __future__ import annotations

from kstreams_cassandra.rows import Columns
from kstreams_cassandra.table import CassandraTable

__all__ = ("CassandraTable", "Columns")
