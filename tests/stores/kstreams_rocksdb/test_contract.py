"""RocksDB satisfies the contract of working stores, with and without its optional abilities."""

from __future__ import annotations

from kstreams_rocksdb import RocksDB
from kstreams_testing.working_store import WorkingStoreContract


class TestRocksDB(WorkingStoreContract):
    def backend(self) -> RocksDB:
        return RocksDB(cache_bytes=8 * 1024 * 1024)


class TestRocksDBWithoutComforts(WorkingStoreContract):
    def backend(self) -> RocksDB:
        return RocksDB(
            cache_bytes=0, bloom_bits=0, compression="none", max_runs=2, write_buffer_bytes=65_536
        )
