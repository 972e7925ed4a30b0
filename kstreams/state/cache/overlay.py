"""The write-back cache between typed stores and a working store, for one attempt.

A batch reads through it and touches the working store's files once, at commit. Nothing
reaches the backend before `changes()` is written, so dropping the overlay undoes the
attempt.
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
    """The known rows of one store at one version, for another overlay at that version.

    Attributes:
        key: The serde of the keys, which determines the handles.
        value: The serde of the values.
        rows: Values by handle; None is known to be absent.
        encoded: Whether handles and values are bytes, for any serdes.
        resident: The other data that the kind of store keeps.
    """

    key: Serde[Any]
    value: Serde[Any]
    rows: dict[Any, Any]
    encoded: bool = False
    resident: Resident | None = None

    @property
    def size_bytes(self) -> int:
        """About how much memory the rows take, estimated from a few of them."""
        size = sys.getsizeof
        sample = [size(h) + size(value) for h, value in islice(self.rows.items(), _SAMPLE)]
        each = _ENTRY_BYTES + (sum(sample) / len(sample) if sample else 0)
        besides = 0 if self.resident is None else self.resident.size_bytes
        return round(len(self.rows) * each) + besides


class Overlay:
    """All stores of one attempt of a task, over its opened working store.

    Args:
        base: The working store.
        cached: The rows that another overlay of this task knew when it had committed exactly the
            version of `base`, by store. They belong to this overlay from now on.
        times: See the attribute.

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
        """Return a store's part, the same one at each call."""
        found = self._stores.get(name)
        if found is None:
            known = self._cached.get(name)
            if known is None or (known.key, known.value) != (key, value):
                known = self._cached[name] = CachedRows(key, value, {})
            found = self._stores[name] = self.new_store(name, known)
            found.journal = self._journal()
        return found

    def new_store(self, name: str, known: CachedRows) -> StoreOverlay:
        """Return a new part for a store; override this to observe its writes.

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
        """Reject puts from now on, because no batch is running."""
        self._sealed = True
        self.end()

    def open(self) -> None:
        """Accept puts."""
        self._sealed = False
        self.end()

    def _journal(self) -> list[tuple[Any, Any]] | None:
        if self._sealed:
            return SealedJournal()
        return [] if self._journaling else None

    def begin(self) -> None:
        """Open a journal: `rollback` reverts the puts from here on."""
        self._journaling = True
        for store in self._stores.values():
            store.journal = []

    def end(self) -> None:
        """Close the journal; its puts stay."""
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
        """Return the values of encoded keys at the version below the changes."""
        return self._base.multi_get(store, keys)

    def stored_in(self, store: str, ranges: Sequence[KeyRange]) -> Iterator[bytes]:
        """Yield the encoded keys that ranges had at that version, in order."""
        for start, end in ranges:
            for key, _ in self._base.scan(store, start, end):
                yield key

    def all_stored(self, store: str) -> Iterator[tuple[bytes, bytes]]:
        """Yield all encoded pairs of that version, by key."""
        return self._base.scan(store, None, None)

    def committed(self) -> None:
        """Take all changes as stored."""
        for store in self._stores.values():
            store.committed()

    def cached(self) -> Mapping[str, CachedRows]:
        """Return the known rows of each store, without the changes."""
        found = dict(self._cached)
        for name, store in self._stores.items():
            found[name] = replace(found[name], encoded=store.encoded, resident=store.resident.found)
        return found

    def forget_read(self) -> None:
        """Drop the read rows from the cache, but not the changes."""
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
