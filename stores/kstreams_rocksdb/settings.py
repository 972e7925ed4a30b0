"""The settings of state in RocksDB."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kstreams.errors import StoreError, StoreOpenError
from kstreams.state import ObjectStoreSettings
from kstreams_rocksdb.hardlinks import branch, is_closed, mark_open
from kstreams_rocksdb.native import rocksdict
from kstreams_rocksdb.options import Compression, block_cache, family_options
from kstreams_rocksdb.shared_store import SharedStore
from kstreams_rocksdb.store import RocksStore, family_name

__all__ = ("RocksDB",)

_SHARED_CACHE_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class RocksDB:
    """Settings of the RocksDB backend.

    Args:
        directory: The directory of local files, best a temporary disk of the worker; a memory file
            system such as `/dev/shm` saves about 30 ms a batch for small state. None uses
            the system's temporary directory.
        log: The durable log of deltas and snapshots; None is the checkpoint.
        cache_bytes: The size of the block cache that all databases of a Python worker share.
        write_buffer_bytes: The bytes of a batch that a store keeps in memory before it writes them
            to a file; a batch may write several files.
        bloom_bits: The bits per key of the filters that avoid lookups of missing keys; 0 for none.
        max_runs: The maximum number of sorted files of a store before a merge. Fewer files make
            reads faster; more files reduce writes.
        compression: The compression of files.
        open_bytes: The maximum bytes of a task's small batches in memory before they are written to
            files; the database stays open until then. 0 opens and closes it for each batch.

    Raises:
        ValueError: A size or count is out of range.
    """

    directory: str | None = None
    log: ObjectStoreSettings | None = None
    cache_bytes: int = 128 * 1024 * 1024
    write_buffer_bytes: int = 32 * 1024 * 1024
    bloom_bits: int = 10
    max_runs: int = 6
    compression: Compression = "lz4"
    open_bytes: int = 4 * 1024 * 1024

    def __post_init__(self) -> None:
        """Reject values that RocksDB would misinterpret."""
        least = {
            "cache_bytes": 0,
            "write_buffer_bytes": 64 * 1024,
            "bloom_bits": 0,
            "max_runs": 2,
            "open_bytes": 0,
        }
        for field, low in least.items():
            if getattr(self, field) < low:
                raise ValueError(f"RocksDB({field}={getattr(self, field)}): must be at least {low}")

    @property
    def name(self) -> str:
        """Return `rocksdb`."""
        return "rocksdb"

    def open(self, directory: Path, stores: Sequence[str]) -> RocksStore:
        """Open the database of a directory; an absent or empty directory is an empty state.

        Other stores in the directory stay unchanged.

        Raises:
            StoreOpenError: RocksDB cannot open the directory; the text has its path and the cause.
        """
        try:
            directory.mkdir(parents=True, exist_ok=True)
            database = self._open(directory, stores)
            mark_open(directory)
        except Exception as error:
            raise StoreOpenError(
                f"RocksDB cannot open {directory} with stores {list(stores)}: {error}",
                hint=_hint(str(error)),
            ) from error
        return RocksStore(database, directory, stores, self.max_runs)

    def open_shared(self, directory: Path, stores: Sequence[str]) -> SharedStore:
        """Open the closed database of a directory read-only, together with other processes.

        All databases that a process opens this way share a block cache of 32 MiB.

        Raises:
            StoreOpenError: The database was not closed properly, or RocksDB rejects it.
        """
        if not is_closed(directory):
            raise StoreOpenError(
                f"RocksDB cannot read {directory}: the database was not closed properly",
                hint=_hint(""),
            )
        try:
            options = {family_name(each): self._options(_SHARED_CACHE_BYTES) for each in stores}
            database = rocksdict.Rdict(
                str(directory),
                self._options(_SHARED_CACHE_BYTES),
                options,
                rocksdict.AccessType.read_only(),
            )
        except Exception as error:
            raise StoreOpenError(
                f"RocksDB cannot open {directory} with stores {list(stores)} for reading: {error}",
                hint=_hint(str(error)),
            ) from error
        return SharedStore(database, directory, stores, self.max_runs)

    def branch(self, source: Path, target: Path) -> bool:
        """Create `target` with the contents of `source`, by hard links; the source stays usable.

        Returns:
            True; or False if the source was not closed properly, or is being removed.
        """
        try:
            return branch(source, target)
        except OSError as error:
            raise StoreError(
                f"cannot link the RocksDB files of {source} to {target}: {error}",
                hint="Both directories must be writable, and on one file system with free space.",
            ) from error

    def copy(self, source: Path, target: Path) -> bool:
        """Create `target` by `branch`, which leaves the source unchanged; return its result."""
        return self.branch(source, target)

    def remove(self, directory: Path) -> None:
        """Delete a directory; a missing directory is no error."""
        try:
            shutil.rmtree(directory)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(
                f"cannot remove the RocksDB directory {directory}: {error}",
                hint="Check the owner of the directory; the library needs to delete old versions.",
            ) from error

    def _open(self, directory: Path, stores: Sequence[str]) -> rocksdict.Rdict:
        families = [family_name(store) for store in stores]
        try:
            return self._open_families(directory, families)
        except Exception as error:
            if "olumn families not opened" not in str(error):
                raise
        present = rocksdict.Rdict.list_cf(str(directory), self._options())
        return self._open_families(directory, sorted({*families, *present} - {"default"}))

    def _open_families(self, directory: Path, families: Sequence[str]) -> rocksdict.Rdict:
        options = {family: self._options() for family in families}
        return rocksdict.Rdict(str(directory), self._options(), options)

    def _options(self, cache_bytes: int | None = None) -> rocksdict.Options:
        return family_options(
            cache=block_cache(self.cache_bytes if cache_bytes is None else cache_bytes),
            write_buffer_bytes=self.write_buffer_bytes,
            bloom_bits=self.bloom_bits,
            max_runs=self.max_runs,
            compression=self.compression,
        )


def _hint(cause: str) -> str:
    if "lock" in cause.lower():
        return (
            "The directory is open in this process or another; each attempt needs its own "
            "directory."
        )
    if "No space" in cause or "Permission" in cause or "Read-only" in cause:
        return "Give the backend a writable directory with free space: RocksDB(directory=...)."
    return (
        "Local state is a copy: delete the directory, and the app restores it from the durable "
        "log. RocksDB(directory=...) sets another directory."
    )
