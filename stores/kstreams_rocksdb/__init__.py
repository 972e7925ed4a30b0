"""State in RocksDB: larger than memory, warm from batch to batch.

Read `RocksDB` first, the argument of an app: `App(..., state=RocksDB())`. Each task and version has
a database, each store a column family, and versions share files by hard links. Depends on the
interfaces of the core and on rocksdict, not on Spark.
"""

from __future__ import annotations

from kstreams_rocksdb.settings import RocksDB

__all__ = ("RocksDB",)
