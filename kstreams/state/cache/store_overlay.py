"""The write-back cache of one store during an attempt.

It caches Python objects, so that a hot key costs a dict lookup with any backend, or bytes for
columnar operations (`EncodedRows`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import compress, filterfalse
from operator import itemgetter, lt
from typing import Any, Final

from kstreams.serde.base import Serde
from kstreams.state.backend.key_ranges import all_covered, without_deletions
from kstreams.state.backend.working import StoreChanges, WorkingStore
from kstreams.state.cache.merged_rows import MergedRows
from kstreams.state.cache.resident import Resident, ResidentSlot
from kstreams.state.cache.row_coding import RowCoding
from kstreams.state.cache.stored_rows import StoredRows
from kstreams.state.cache.written_keys import WrittenKeys

__all__ = ("MISSING", "StoreOverlay")

MISSING: Final = object()
"""The marker for "not in this cache"; None means that the key is known to have no value."""

_RANGES: Final = object()
"""The marker for deleted ranges in a journal, instead of a handle."""

_SINGLE_LOOKS = 8
"""After single checks of 1/8 of the cached rows for deletion, all rows are checked at once."""


class StoreOverlay:
    """The write-back cache of one store during an attempt: its part of an `Overlay`.

    Keys are cached as objects if equal objects have equal bytes, otherwise as their bytes; values
    as objects if they are immutable, otherwise as bytes. The cached form of a key is called its
    handle.

    Attributes:
        get: Returns the value of a key, or None. It is a closure for speed.
        dirty: The put rows by handle, in the order of first puts; None is a deletion.
        clean: The read rows by handle; None for a key that is known to be absent.
        encoded: Whether only bytes are cached.
        journal: For rollbacks, each put's handle and previous value in `dirty`; None: no journal.
        stored: The rows of the backend.
        merged: The stored rows with the puts, in key order.
        resident: Data that the store keeps in memory between batches; see `Resident`.
        is_only_scanned: Whether keys are only read by scans, so that no row needs caching.

    When a range is deleted, its keys in `dirty` become deletions, and the backend is no longer read
    for keys in the range. The range's rows in `clean` are dropped later: by the next bulk read, or
    after several single reads.
    """

    def __init__(
        self,
        name: str,
        key: Serde[Any],
        value: Serde[Any],
        base: WorkingStore,
        clean: dict[Any, Any] | None = None,
        *,
        encoded: bool = False,
        resident: Resident | None = None,
    ) -> None:
        self.name = name
        self.dirty: dict[Any, Any] = {}
        self.clean: dict[Any, Any] = {} if clean is None else clean
        self.journal: list[tuple[Any, Any]] | None = None
        self._coding = RowCoding(name, key.ordered, value)
        self.stored = StoredRows(base, name)
        self._by_object = key.ordered.hashes_by_bytes and not encoded
        self._objects = value.immutable and not encoded
        self.encoded = encoded
        self._arrange()
        self._stale: list[bool] = []  # not empty: `clean` may have keys of deleted ranges
        self._looks = 0
        self.resident = ResidentSlot(resident)
        self.is_only_scanned = False
        plain = self._by_object and self._objects
        self.get: Callable[[Any], Any] = self._plain_get() if plain else self._get

    def _arrange(self) -> None:
        """Create `_order` (sorted keys of the puts) and `merged` (scans of puts and backend)."""
        self._order = WrittenKeys(self.dirty, self._coding.encode_keys if self._by_object else None)
        self.merged = MergedRows(
            self.dirty,
            self.clean,
            self.stored,
            self._order,
            self._coding,
            by_object=self._by_object,
            objects=self._objects,
        )

    def keep_bytes(self) -> None:
        """Cache keys and values as bytes after this call; see `EncodedRows`."""
        self.encoded = True
        if not (self._by_object or self._objects):
            return
        self.drop_stale()
        dirty, clean = dict(self.changes().pairs), self._encoded(self.clean)
        self._by_object = self._objects = False
        self.get = self._get
        for cache, found in ((self.dirty, dirty), (self.clean, clean)):
            cache.clear()
            cache.update(found)
        self._arrange()

    def _encoded(self, cache: dict[Any, Any]) -> dict[Any, Any]:
        keys, values = list(cache), list(cache.values())
        if self._objects:
            values = self._coding.encode_values(values, keys)
        if self._by_object:
            keys = self._coding.encode_keys(keys)
        return dict(zip(keys, values, strict=True))

    def reader(self, bound: Any) -> Callable[[Any], Any]:  # noqa: ANN401  # a handle
        """Return a function like `get` that reads the backend only for keys below a bound.

        Args:
            bound: A value above every handle with a value in the backend; None if the backend is
                empty.
        """
        dirty, clean, get = self.dirty.get, self.clean.get, self.get
        stale, is_deleted = self._stale, self._is_deleted
        if not (self._by_object and self._objects):
            return get

        def read(key: Any) -> Any:  # noqa: ANN401  # the store's own types, erased here
            found = dirty(key, MISSING)
            if found is MISSING:
                if bound is not None and key < bound:
                    return get(key)
                found = clean(key)
                if stale and found is not None and is_deleted(key):
                    return None
            return found

        return read

    def _plain_get(self) -> Callable[[Any], Any]:
        dirty, clean, load = self.dirty.get, self.clean.get, self._load
        stale, is_deleted = self._stale, self._is_deleted

        def get(key: Any) -> Any:  # noqa: ANN401  # the store's own types, erased here
            found = dirty(key, MISSING)
            if found is MISSING:
                found = clean(key, MISSING)
                if found is MISSING:
                    found = load(key, key)
                elif stale and found is not None and is_deleted(key):
                    found = None
            return found

        return get

    def _get(self, key: Any) -> Any:  # noqa: ANN401  # as above
        handle = key if self._by_object else self._coding.encode_key(key)
        found = self.dirty.get(handle, MISSING)
        if found is MISSING:
            found = self.clean.get(handle, MISSING)
            if found is MISSING:
                found = self._load(key, handle)
            elif self._stale and found is not None and self._is_deleted(handle):
                found = None
        return self._opened(found, key)

    def _load(self, key: Any, handle: Any) -> Any:  # noqa: ANN401  # as above
        """Read an uncached key from the backend; cache and return its value (object or bytes)."""
        encoded = self._coding.encode_key(key) if self._by_object else handle
        data = self.stored.get(encoded)
        found = data if data is None or not self._objects else self._coding.value(data, key)
        self.clean[handle] = found
        return found

    def get_many(self, keys: Sequence[Any]) -> list[Any]:
        """Return the values of many keys, in the order of the keys; reads the backend once."""
        self.drop_stale()
        handles, clean = self._handles(keys), self.clean
        if self.dirty and not self.dirty.keys().isdisjoint(handles):
            dirty = self.dirty.get
            self._load_many(h for h in handles if h not in self.dirty and h not in clean)
            found = [clean[h] if (v := dirty(h, MISSING)) is MISSING else v for h in handles]
        else:
            try:
                found = list(map(clean.__getitem__, handles))  # mostly all is known
            except KeyError:
                self._load_many(filterfalse(clean.__contains__, handles))
                found = list(map(clean.__getitem__, handles))
        return found if self._objects else self._coding.values(found, keys, encoded=False)

    def _handles(self, keys: Sequence[Any]) -> Sequence[Any]:
        return keys if self._by_object else self._coding.encode_keys(list(keys))

    def read_ahead(self, keys: Sequence[Any]) -> None:
        """Read all uncached keys among these keys into the cache, with one read of the backend."""
        self.drop_stale()
        known, put = self.clean.__contains__, self.dirty.__contains__
        self._load_many(set(filterfalse(put, filterfalse(known, self._handles(keys)))))

    def _load_many(self, handles: Iterable[Any]) -> None:
        """Read uncached keys from the backend, and cache their values."""
        # Sorted, because a tree of blocks is read faster in order.
        wanted = _in_own_order(handles)
        if wanted:
            encoded = self._coding.encode_keys(wanted) if self._by_object else wanted
            data = self.stored.multi_get(encoded)
            found = self._coding.values(data, encoded) if self._objects else data
            self.clean.update(zip(wanted, found, strict=True))

    def share_cached(self, keys: Sequence[Any]) -> float:
        """Return the fraction (0 to 1) of keys that are cached; `keys` must not be empty."""
        handles = self._handles(keys)
        return sum(h in self.dirty or h in self.clean for h in handles) / len(handles)

    def put(self, key: Any, value: Any) -> None:  # noqa: ANN401  # as above
        """Set a key's value; None deletes the key."""
        handle = key if self._by_object else self._coding.encode_key(key)
        if not self._objects and value is not None:
            value = self._coding.encode_value(value, key)
        if self.journal is not None:
            self._check(key, value)
            self.journal.append((handle, self.dirty.get(handle, MISSING)))
        self.dirty[handle] = value

    def put_many(self, keys: Sequence[Any], values: Sequence[Any]) -> None:
        """Set the values of many keys; both lists have equal length. A key's last value wins."""
        if self.journal is not None:
            for key, value in zip(keys, values, strict=True):
                self.put(key, value)
            return
        if not self._objects:
            values = self._coding.encode_values(list(values), list(keys))
        handles = keys if self._by_object else self._coding.encode_keys(list(keys))
        self.dirty.update(zip(handles, values, strict=True))

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[Any, Any]]:
        """Return an iterator over decoded pairs with `start <= key bytes < end`, in order.

        The iterator has the keys that have a value at the call, with their current values; deleted
        keys are omitted.
        """
        return self.merged.scan(start, end, reverse=reverse)

    def delete_range(self, start: bytes, end: bytes) -> None:
        """Delete all keys with `start <= key bytes < end`, without reading them.

        One backend read checks whether the range has keys; without keys, nothing is recorded.
        """
        if self.merged.first(start, end) is None:
            return
        if self.journal is not None:
            self.journal.append((_RANGES, self.stored.deleted))
        for data in self._order.within(start, end):
            handle = self._order.handle(data)
            before = self.dirty[handle]
            if before is not None:
                if self.journal is not None:
                    self.journal.append((handle, before))
                self.dirty[handle] = None
        self.stored.delete(start, end)
        if self.clean:
            self._stale[:] = [True]

    def delete_ranges(
        self, ranges: Sequence[tuple[bytes, bytes]], covers: Callable[[Any], bool]
    ) -> None:
        """Delete all keys that lie in ranges.

        Args:
            ranges: The start and end of each range, encoded.
            covers: Returns whether a decoded key lies in one of the ranges.
        """
        if self.journal is not None or not (self._by_object and self._objects):
            for start, end in ranges:
                self.delete_range(start, end)
            return
        for cache in (self.dirty, self.clean):
            for handle in list(filter(covers, cache)):
                del cache[handle]
        self._order.forget()
        for start, end in ranges:
            if next(self.stored.scan(start, end), None) is not None:
                self.stored.delete(start, end)

    def _is_deleted(self, handle: Any) -> bool:  # noqa: ANN401  # as above
        """Return whether the key of a handle in `clean` lies in a deleted range."""
        self._looks += 1
        if self._looks * _SINGLE_LOOKS > len(self.clean):
            self.drop_stale()
            return handle not in self.clean
        data = self._coding.encode_key(handle) if self._by_object else handle
        return self.stored.is_deleted(data)

    def drop_stale(self) -> None:
        """Drop cached keys of deleted ranges, if ranges were deleted since the last call."""
        if self._stale:
            self._drop_deleted()

    def _drop_deleted(self) -> None:
        """Drop cached keys of deleted ranges."""
        handles = list(self.clean)
        keys = self._coding.encode_keys(handles) if self._by_object else handles
        for handle in compress(handles, all_covered(self.stored.deleted, keys)):
            del self.clean[handle]
        self._stale.clear()
        self._looks = 0

    def rollback(self) -> None:
        """Revert the puts and deletions since the journal was opened."""
        if self.journal:
            self.resident.take()
        for handle, before in reversed(self.journal or []):
            if handle is _RANGES:
                self._drop_deleted()  # including keys that are absent only because of them
                self.stored.deleted = before
            elif before is MISSING:
                del self.dirty[handle]
            else:
                self.dirty[handle] = before
        if len(self.dirty) < len(self._order):
            self._order.forget()

    def changes(self) -> StoreChanges:
        """Return the puts and deletions, encoded and sorted by key.

        Raises:
            SerializationError: A serde cannot write a key or a value. The message has the store and
                the key.
        """
        keys = _in_own_order(self.dirty)
        data = list(map(self.dirty.__getitem__, keys))
        if self._objects:
            data = self._coding.encode_values(data, keys)
        if self._by_object:
            keys = self._coding.encode_keys(keys)
        zipped = zip(keys, data, strict=True)
        rises = all(map(lt, keys, keys[1:]))
        pairs = list(zipped) if rises else sorted(zipped, key=itemgetter(0))
        return StoreChanges(without_deletions(pairs, self.stored.deleted), self.stored.deleted)

    def committed(self) -> None:
        """Move the puts to `clean`, after they were written to the working store."""
        self.resident.committed(changed=bool(self.dirty or self.stored.deleted))
        self.drop_stale()
        if self.stored.deleted:  # callers do not read expired rows
            for handle in [handle for handle, value in self.dirty.items() if value is None]:
                del self.dirty[handle]
                self.clean.pop(handle, None)
        if not self.is_only_scanned:
            self.clean.update(self.dirty)
        self.dirty.clear()
        self.stored.deleted = ()
        self._order.forget()

    def forget(self) -> None:
        """Drop the puts and all cached rows."""
        self.resident.take()
        self.dirty.clear()
        self.clean.clear()
        self.stored.deleted = ()
        self._stale.clear()
        self._order.forget()

    def count(self) -> int:
        """Return the approximate number of keys.

        A key that was put without being read counts as new; a key deleted unread, as absent.
        """
        self.drop_stale()
        known, more = self.clean, 0
        for handle, value in self.dirty.items():
            more += (value is not None) - (known.get(handle) is not None)
        return max(0, self.stored.count() + more)

    def _check(self, key: Any, value: Any) -> None:  # noqa: ANN401  # as above
        """Check that a key and value can be serialized, so that `changes` raises no error later."""
        if self._by_object:
            self._coding.encode_key(key)
        if self._objects and value is not None:
            self._coding.encode_value(value, key)

    def _opened(self, found: Any, key: Any) -> Any:  # noqa: ANN401  # as above
        """Return the cached value `found` as an object; decode it if values are cached as bytes."""
        return found if self._objects or found is None else self._coding.value(found, key)


def _in_own_order(handles: Iterable[Any]) -> list[Any]:
    """Return cached keys (handles) in Python's order of them; unsorted if there is no order."""
    found = list(handles)
    with suppress(TypeError):  # no order of their own
        found.sort()
    return found
