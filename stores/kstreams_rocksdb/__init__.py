"""State in RocksDB: larger than memory, warm from batch to batch.

Read `RocksDB` first; it is what an app is given: `App(..., state=RocksDB())`. One
database a task and version, a column family a store, versions share files by hard links.
Depends on the core's contracts and on rocksdict, on nothing of Spark.
"""

from __future__ import annotations

from kstreams_rocksdb.settings import RocksDB

__all__ = ("RocksDB",)
