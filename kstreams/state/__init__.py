"""State: the interfaces of a state backend and of durable storage.

`App(state=...)` takes a `StateBackend`: `Memory()`, the default, or that of a plugin, such as
`kstreams_rocksdb.RocksDB`. A backend opens a `WorkingStore`, which keeps bytes by key in a
directory; it needs no locks and no fsync, because the durable log is authoritative.
`kstreams.testing.WorkingStoreContract` tests a backend.

The `log` of a backend is an `ObjectStoreSettings`, which opens an `ObjectStore`: immutable objects
by name, each created once; `Directory` stores them as files. `kstreams.testing.ObjectStoreContract`
tests an object store. `kstreams.stores` has typed stores.

Example:
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from kstreams.state import Memory, StoreChanges
    >>> with TemporaryDirectory() as place:
    ...     working = Memory().open(Path(place), ["counts"])
    ...     working.write({"counts": StoreChanges(pairs=[(b"ann", b"2")])})
    ...     working.get("counts", b"ann")
    b'2'
"""

from __future__ import annotations

from kstreams.state.backend.memory import Memory
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings, object_name_parts
from kstreams.state.backend.working import (
    Changes,
    CopiesVersions,
    KeyRange,
    Pair,
    SharesVersions,
    StateBackend,
    StaysOpen,
    StoreChanges,
    WorkingStore,
)
from kstreams.state.log.directory import Directory

__all__ = (
    "Changes",
    "CopiesVersions",
    "Directory",
    "KeyRange",
    "Memory",
    "ObjectStore",
    "ObjectStoreSettings",
    "Pair",
    "SharesVersions",
    "StateBackend",
    "StaysOpen",
    "StoreChanges",
    "WorkingStore",
    "object_name_parts",
)
