"""RocksDB's own options; they must be given at each open, as the database does not store them."""

from __future__ import annotations

from functools import cache
from typing import Literal

from kstreams_rocksdb.native import rocksdict

__all__ = ("Compression", "block_cache", "family_options", "unlogged")

Compression = Literal["lz4", "zstd", "none"]
"""The compression of data blocks."""

_SLOWDOWN_RUNS = 40
_STOP_RUNS = 60


@cache
def block_cache(cache_bytes: int) -> rocksdict.Cache:
    """Return the block cache of a size, which all databases of this process share.

    Cached blocks are identified by the id in the data file, so they remain valid when the next
    version, which links to the same file, is opened.
    """
    return rocksdict.Cache(cache_bytes)


def unlogged() -> rocksdict.WriteOptions:
    """Return options for writes without RocksDB's own log: the durable log has the changes."""
    options = rocksdict.WriteOptions()
    options.disable_wal = True  # type: ignore[method-assign, assignment]  # an attribute in truth
    return options


def family_options(
    *,
    cache: rocksdict.Cache,
    write_buffer_bytes: int,
    bloom_bits: int,
    max_runs: int,
    compression: Compression,
) -> rocksdict.Options:
    """Return the options of the database and of each of its column families.

    Universal compaction: a batch adds one small sorted run to a store, and universal compaction
    merges runs of similar size, while leveled compaction would rewrite the whole store every few
    batches. Index and filters are partitioned, so that a small cache holds their hot parts.
    """
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_block_based_table_factory(_table_options(cache, bloom_bits))
    options.set_compression_type(getattr(rocksdict.DBCompressionType, compression)())
    options.set_write_buffer_size(write_buffer_bytes)
    options.set_max_write_buffer_number(3)
    options.set_compaction_style(rocksdict.DBCompactionStyle.universal())
    options.set_level_zero_file_num_compaction_trigger(max_runs)
    options.set_level_zero_slowdown_writes_trigger(max(_SLOWDOWN_RUNS, 4 * max_runs))
    options.set_level_zero_stop_writes_trigger(max(_STOP_RUNS, 6 * max_runs))
    options.set_skip_stats_update_on_db_open(True)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    options.set_keep_log_file_num(1)
    # A version is opened for each batch and has few files: starting threads takes longer.
    options.set_max_file_opening_threads(1)
    return options


def _table_options(cache: rocksdict.Cache, bloom_bits: int) -> rocksdict.BlockBasedOptions:
    table = rocksdict.BlockBasedOptions()
    table.set_block_cache(cache)
    table.set_cache_index_and_filter_blocks(True)
    table.set_pin_top_level_index_and_filter(True)
    table.set_index_type(rocksdict.BlockBasedIndexType.two_level_index_search())
    if bloom_bits:
        table.set_bloom_filter(bloom_bits, False)
        table.set_partition_filters(True)
    table.set_format_version(5)
    return table
