"""State in RocksDB: it may exceed memory, and stays cached on the worker between batches.

Read `RocksDB` first, the argument of an app: `App(..., state=RocksDB())`. Each version of a task
has its own database, each store is a column family, and versions share files by hard links. Depends
on the interfaces of the core and on rocksdict, not on Spark.
"""

from __future__ import annotations

from kstreams_rocksdb.settings import RocksDB

__all__ = ("RocksDB",)
