"""State: what writers of backends and of durable storage need is named here.

Read `StateBackend` and `WorkingStore` first, then `ObjectStore`. The rooms below: `backend` has
these contracts and the backend in memory, `log` the durable log, `versions` what a worker keeps
of it, `cache` what an attempt reads and writes, `stores` the typed stores by kind. Knows no
engine, and no topology.
"""

from __future__ import annotations

from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings, object_name_parts
from kstreams.state.backend.working import (
    Changes,
    CopiesVersions,
    KeyRange,
    Pair,
    StateBackend,
    StoreChanges,
    WorkingStore,
)

__all__ = (
    "Changes",
    "CopiesVersions",
    "KeyRange",
    "ObjectStore",
    "ObjectStoreSettings",
    "Pair",
    "StateBackend",
    "StoreChanges",
    "WorkingStore",
    "object_name_parts",
)
