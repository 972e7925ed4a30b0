"""The only module that imports rocksdict."""

from __future__ import annotations

try:
    import rocksdict
except ImportError as error:
    raise ImportError(
        "RocksDB state needs rocksdict: pip install 'kstreams-spark[rocksdb]'"
    ) from error

__all__ = ("rocksdict",)
