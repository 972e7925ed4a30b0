"""The write-back cache between typed stores and a working store, for one attempt.

A batch reads through the cache and writes to the working store once, at commit. Nothing
reaches the backend before the result of `changes()` is written, so dropping the overlay undoes
the attempt.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from kstreams.serde.base import Serde
from kstreams.state.backend.working import Changes, KeyRange, WorkingStore
from kstreams.state.cache.resident import Resident
from kstreams.state.cache.sealed import SealedJournal
from kstreams.state.cache.store_overlay import StoreOverlay
from kstreams.state.cache.times import BEFORE_ALL, Times

__all__ = ("CachedRows", "Overlay")

_SAMPLE = 64
_ENTRY_BYTES = 110
"""The approximate bytes of a dict entry."""


@dataclass(frozen=True)
class CachedRows:
    """The cached rows of one store at one version, for the next overlay at that version.

    Attributes:
        key: The serde of the keys; it determines the handles, see `StoreOverlay`.
        value: The serde of the values.
        rows: Values by handle; None for a key that is known to be absent.
        encoded: Whether handles and values are bytes, regardless of the serdes.
        resident: Data that the store keeps in memory between batches; see `Resident`.
    """

    key: Serde[Any]
    value: Serde[Any]
    rows: dict[Any, Any]
    encoded: bool = False
    resident: Resident | None = None

    @property
    def size_bytes(self) -> int:
        """The approximate memory of the rows, in bytes, estimated from the first 64 rows."""
        size = sys.getsizeof
        sample = [size(h) + size(value) for h, value in islice(self.rows.items(), _SAMPLE)]
        each = _ENTRY_BYTES + (sum(sample) / len(sample) if sample else 0)
        besides = 0 if self.resident is None else self.resident.size_bytes
        return round(len(self.rows) * each) + besides


class Overlay:
    """The write-back caches of all stores in one attempt of a task, on top of its working store.

    Args:
        base: The working store.
        cached: By store, the rows that another overlay of this task had cached when it committed
            exactly the version of `base`. This overlay takes ownership.
        times: The current times of the task; `BEFORE_ALL` by default.

    Attributes:
        times: The current times of the task, for stores whose rows expire.
    """

    def __init__(
        self,
        base: WorkingStore,
        cached: Mapping[str, CachedRows] | None = None,
        *,
        times: Times | None = None,
    ) -> None:
        self.times: Times = times or BEFORE_ALL
        self._base = base
        self._cached = dict(cached or {})
        self._stores: dict[str, StoreOverlay] = {}
        self._journaling = False
        self._sealed = False

    def store(self, name: str, key: Serde[Any], value: Serde[Any]) -> StoreOverlay:
        """Return the write-back cache of a store; each call returns the same object."""
        found = self._stores.get(name)
        if found is None:
            known = self._cached.get(name)
            if known is None or (known.key, known.value) != (key, value):
                known = self._cached[name] = CachedRows(key, value, {})
            found = self._stores[name] = self.new_store(name, known)
            found.journal = self._journal()
        return found

    def new_store(self, name: str, known: CachedRows) -> StoreOverlay:
        """Create the write-back cache of a store; subclasses override this to observe writes.

        Args:
            name: The name of the store.
            known: The serdes and the known rows of the store.
        """
        return StoreOverlay(
            name,
            known.key,
            known.value,
            self._base,
            known.rows,
            encoded=known.encoded,
            resident=known.resident,
        )

    def seal(self) -> None:
        """Reject puts until the next call of `open`, because no batch is running."""
        self._sealed = True
        self.end()

    def open(self) -> None:
        """Accept puts again after `seal`."""
        self._sealed = False
        self.end()

    def _journal(self) -> list[tuple[Any, Any]] | None:
        if self._sealed:
            return SealedJournal()
        return [] if self._journaling else None

    def begin(self) -> None:
        """Open a journal: `rollback` reverts the puts after this call."""
        self._journaling = True
        for store in self._stores.values():
            store.journal = []

    def end(self) -> None:
        """Close the journal; the puts since `begin` can no longer be rolled back."""
        self._journaling = False
        for store in self._stores.values():
            store.journal = self._journal()

    def rollback(self) -> None:
        """Revert the puts since `begin` in all stores, and close the journal."""
        for store in self._stores.values():
            store.rollback()
        self.end()

    def changes(self) -> Changes:
        """Return the changes of all stores, encoded and sorted, without unchanged stores."""
        return {
            name: changed
            for name, store in sorted(self._stores.items())
            if (changed := store.changes())
        }

    def stored(self, store: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of encoded keys in the working store, without the overlay's changes."""
        return self._base.multi_get(store, keys)

    def stored_in(self, store: str, ranges: Sequence[KeyRange]) -> Iterator[bytes]:
        """Yield the encoded keys of the working store that lie in ranges, range by range."""
        for start, end in ranges:
            for key, _ in self._base.scan(store, start, end):
                yield key

    def all_stored(self, store: str) -> Iterator[tuple[bytes, bytes]]:
        """Yield all encoded pairs of a store in the working store, in key order."""
        return self._base.scan(store, None, None)

    def committed(self) -> None:
        """Move all changes to the read cache, after they were written to the working store."""
        for store in self._stores.values():
            store.committed()

    def cached(self) -> Mapping[str, CachedRows]:
        """Return the cached rows of each store, without uncommitted changes."""
        found = dict(self._cached)
        for name, store in self._stores.items():
            found[name] = replace(found[name], encoded=store.encoded, resident=store.resident.found)
        return found

    def forget_read(self) -> None:
        """Drop the cached rows of reads and the `Resident` data; keep the uncommitted changes."""
        for name, known in self._cached.items():
            known.rows.clear()
            self._cached[name] = replace(known, resident=None)
        for store in self._stores.values():
            store.resident.take()

    def forget(self) -> None:
        """Drop all changes and caches; the typed stores made on this overlay stay usable."""
        self.end()
        for store in self._stores.values():
            store.forget()
