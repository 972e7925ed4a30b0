"""One store's part of an attempt's write-back cache.

It keeps Python objects: a hot key costs a dict look-up, whatever the backend; or bytes,
where work goes by columns.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from heapq import merge
from itertools import compress, islice
from operator import itemgetter, lt
from typing import Any, Final

from kstreams.serde.base import Serde
from kstreams.state.backend.key_ranges import all_covered
from kstreams.state.backend.working import KeyRange, Pair, StoreChanges, WorkingStore
from kstreams.state.cache.row_coding import RowCoding
from kstreams.state.cache.stored_rows import StoredRows
from kstreams.state.cache.written_keys import WrittenKeys

__all__ = ("StoreOverlay",)

_MISSING: Final = object()
"""Stands for "not in this cache", which differs from None: known to have no value."""

_RANGES: Final = object()
"""Stands in a journal for the deleted ranges, in the place of a handle."""

_SINGLE_LOOKS = 8
"""One of so many cached rows may be looked at singly before all are searched."""


class StoreOverlay:
    """One store's part of an overlay.

    Keys are cached as objects where equal objects have equal bytes, else as their bytes;
    values as objects where nobody can change them, else as bytes. What stands for a key
    in the cache is called its handle.

    Attributes:
        get: Returns a key's value, or None. A closure, as it is called for each record.
        dirty: What was put, by handle, in the order of first puts; None is a deletion.
        clean: What was read, by handle; None is known to be absent.
        encoded: Whether only bytes are cached.
        journal: Handles and what `dirty` held before each put, while a way back is open.

    What a deleted range hides is not looked for at once. In `dirty` its keys become
    deletions; the backend is not asked for them; and what `clean` has of them goes when
    `clean` is asked often enough, or as a whole.
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
    ) -> None:
        self.name = name
        self.dirty: dict[Any, Any] = {}
        self.clean: dict[Any, Any] = {} if clean is None else clean
        self.journal: list[tuple[Any, Any]] | None = None
        self._coding = RowCoding(name, key.ordered, value)
        self._rows = StoredRows(base, name)
        self._by_object = key.ordered.hashes_by_bytes and not encoded
        self._objects = value.immutable and not encoded
        self.encoded = encoded
        self._order = WrittenKeys(self.dirty, self._coding.encode_keys if self._by_object else None)
        self._stale: list[bool] = []  # not empty: `clean` may have keys of deleted ranges
        self._looks = 0
        plain = self._by_object and self._objects
        self.get: Callable[[Any], Any] = self._plain_get() if plain else self._get

    def keep_bytes(self) -> None:
        """Cache keys and values as their bytes from here on, for work by columns.

        Everything else stays as it is: what asks by objects has them encoded and decoded
        at each call.
        """
        self.encoded = True
        if not (self._by_object or self._objects):
            return
        self._drop_stale()
        dirty, clean = dict(self.changes().pairs), self._encoded(self.clean)
        self._by_object = self._objects = False
        self.get = self._get
        for cache, found in ((self.dirty, dirty), (self.clean, clean)):
            cache.clear()
            cache.update(found)
        self._order = WrittenKeys(self.dirty, None)

    def _encoded(self, cache: dict[Any, Any]) -> dict[Any, Any]:
        keys, values = list(cache), list(cache.values())
        if self._objects:
            values = self._coding.encode_values(values, keys)
        if self._by_object:
            keys = self._coding.encode_keys(keys)
        return dict(zip(keys, values, strict=True))

    def get_bytes(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return many encoded values, after `keep_bytes`; one read of the backend."""
        self._drop_stale()
        dirty, clean = self.dirty, self.clean
        wanted = [key for key in keys if key not in dirty and key not in clean]
        if wanted:
            clean.update(zip(wanted, self._rows.multi_get(wanted), strict=True))
        return [dirty[key] if key in dirty else clean[key] for key in keys]

    def put_bytes(self, keys: Sequence[bytes], values: Sequence[bytes | None]) -> None:
        """Set many encoded values, after `keep_bytes`; None deletes."""
        if self.journal is not None:
            before = self.dirty.get
            self.journal += [(key, before(key, _MISSING)) for key in keys]
        self.dirty.update(zip(keys, values, strict=True))

    def scan_bytes(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return an iterator over encoded pairs, after `keep_bytes`; else as `scan`."""
        written = self._order.within(start, end)
        if reverse:
            written.reverse()
        stored = self._rows.scan(start, end, reverse=reverse)
        if not written:
            return stored
        return self._merged_bytes(written, stored, reverse=reverse)

    def _merged_bytes(
        self, own: list[bytes], stored: Iterator[tuple[bytes, bytes]], *, reverse: bool
    ) -> Iterator[tuple[bytes, bytes]]:
        known = set(own)
        mine = iter([(key, value) for key in own if (value := self.dirty[key]) is not None])
        others = (pair for pair in stored if pair[0] not in known)
        return merge(mine, others, key=itemgetter(0), reverse=reverse)

    def reader(self, bound: Any) -> Callable[[Any], Any]:  # noqa: ANN401  # a handle
        """Return what `get` does, asking the backend only for keys below a bound.

        Args:
            bound: What is no smaller than any handle that the backend has a value of; None
                when it has none at all.
        """
        dirty, clean, get = self.dirty.get, self.clean.get, self.get
        stale, is_deleted = self._stale, self._is_deleted
        if not (self._by_object and self._objects):
            return get

        def read(key: Any) -> Any:  # noqa: ANN401  # the store's own types, erased here
            found = dirty(key, _MISSING)
            if found is _MISSING:
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
            found = dirty(key, _MISSING)
            if found is _MISSING:
                found = clean(key, _MISSING)
                if found is _MISSING:
                    found = load(key, key)
                elif stale and found is not None and is_deleted(key):
                    found = None
            return found

        return get

    def _get(self, key: Any) -> Any:  # noqa: ANN401  # as above
        handle = key if self._by_object else self._coding.encode_key(key)
        found = self.dirty.get(handle, _MISSING)
        if found is _MISSING:
            found = self.clean.get(handle, _MISSING)
            if found is _MISSING:
                found = self._load(key, handle)
            elif self._stale and found is not None and self._is_deleted(handle):
                found = None
        return self._opened(found, key)

    def _load(self, key: Any, handle: Any) -> Any:  # noqa: ANN401  # as above
        """Read a key that is in no cache."""
        encoded = self._coding.encode_key(key) if self._by_object else handle
        data = self._rows.get(encoded)
        found = data if data is None or not self._objects else self._coding.value(data, key)
        self.clean[handle] = found
        return found

    def get_many(self, keys: Sequence[Any]) -> list[Any]:
        """Return the values of many keys, in their order; one read of the backend."""
        handles = self.read_ahead(keys)
        if self.dirty:
            dirty, clean = self.dirty.get, self.clean
            found = [clean[h] if (v := dirty(h, _MISSING)) is _MISSING else v for h in handles]
        else:
            found = list(map(self.clean.__getitem__, handles))
        if self._objects:
            return found
        return [self._opened(item, key) for item, key in zip(found, keys, strict=True)]

    def read_ahead(self, keys: Sequence[Any]) -> Sequence[Any]:
        """Read keys that are not cached in one call of the backend; return their handles."""
        self._drop_stale()
        handles = keys if self._by_object else [self._coding.encode_key(k) for k in keys]
        clean = self.clean
        # Sorted, because a tree of blocks is read faster in order.
        wanted = _in_own_order(set(handles).difference(clean).difference(self.dirty))
        if wanted:
            encoded = self._coding.encode_keys(wanted) if self._by_object else wanted
            data = self._rows.multi_get(encoded)
            found = self._coding.values(data, encoded) if self._objects else data
            clean.update(zip(wanted, found, strict=True))
        return handles

    def share_cached(self, keys: Sequence[Any]) -> float:
        """Return how large a part of some keys (one or more, all different) is cached."""
        handles = keys if self._by_object else [self._coding.encode_key(k) for k in keys]
        return sum(h in self.dirty or h in self.clean for h in handles) / len(handles)

    def put(self, key: Any, value: Any) -> None:  # noqa: ANN401  # as above
        """Set a key's value; None deletes."""
        handle = key if self._by_object else self._coding.encode_key(key)
        if not self._objects and value is not None:
            value = self._coding.encode_value(value, key)
        if self.journal is not None:
            self._check(key, value)
            self.journal.append((handle, self.dirty.get(handle, _MISSING)))
        self.dirty[handle] = value

    def put_many(self, keys: Sequence[Any], values: Sequence[Any]) -> None:
        """Set many keys' values, of equal length; of equal keys the last wins."""
        if self._by_object and self._objects and self.journal is None:
            self.dirty.update(zip(keys, values, strict=True))
            return
        for key, value in zip(keys, values, strict=True):
            self.put(key, value)

    def delete_range(self, start: bytes, end: bytes) -> None:
        """Delete all keys with `start <= key bytes < end`, without reading them.

        One look at the backend tells whether there are any; without, nothing is noted.
        """
        if self.first(start, end) is None:
            return
        if self.journal is not None:
            self.journal.append((_RANGES, self._rows.deleted))
        for data in self._order.within(start, end):
            handle = self._order.handle(data)
            before = self.dirty[handle]
            if before is not None:
                if self.journal is not None:
                    self.journal.append((handle, before))
                self.dirty[handle] = None
        self._rows.delete(start, end)
        if self.clean:
            self._stale[:] = [True]

    def first(self, start: bytes | None, end: bytes | None) -> bytes | None:
        """Return the bytes of the first key with a value and `start <= key bytes < end`."""
        own = next(filter(self._put, self._order.walk(start, end)), None)
        stored = self._rows.scan(start, end if own is None else own)
        return next((data for data, _ in stored if self._put(data) is not False), own)

    def _put(self, data: bytes) -> bool | None:
        """Return whether a key was put or else deleted, None for neither; in `_order`."""
        found = self.dirty.get(self._order.handle(data, _MISSING), _MISSING)
        return None if found is _MISSING else found is not None

    def _is_deleted(self, handle: Any) -> bool:  # noqa: ANN401  # as above
        """Return whether a handle found in `clean` is in a deleted range."""
        self._looks += 1
        if self._looks * _SINGLE_LOOKS > len(self.clean):
            self._drop_stale()
            return handle not in self.clean
        data = self._coding.encode_key(handle) if self._by_object else handle
        return self._rows.is_deleted(data)

    def _drop_stale(self) -> None:
        if self._stale:
            self._drop_deleted()

    def _drop_deleted(self) -> None:
        """Forget what is cached of deleted ranges."""
        handles = list(self.clean)
        keys = self._coding.encode_keys(handles) if self._by_object else handles
        for handle in compress(handles, all_covered(self._rows.deleted, keys)):
            del self.clean[handle]
        self._stale.clear()
        self._looks = 0

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[Any, Any]]:
        """Return an iterator over decoded pairs with `start <= key bytes < end`, in order.

        The keys are those that have a value at the call; each is seen with the value it
        has when it is reached, and left out if it has none any more.
        """
        written = self._order.within(start, end)
        if reverse:
            written.reverse()
        dirty, handle = self.dirty, self._order.handle
        gone = {data for data in written if dirty[handle(data)] is None}
        own = [data for data in written if data not in gone] if gone else written
        stored = self._rows.scan(start, end, reverse=reverse)
        return self._merged(own, gone, stored, reverse=reverse)

    def _merged(
        self,
        own: list[bytes],
        gone: set[bytes],
        stored: Iterator[tuple[bytes, bytes]],
        *,
        reverse: bool,
    ) -> Iterator[tuple[Any, Any]]:
        place, count = 0, len(own)
        for data, value in stored:
            while place < count and (own[place] > data if reverse else own[place] < data):
                pair = self._pair(own[place], None)
                place += 1
                if pair is not None:
                    yield pair
            if place < count and own[place] == data:
                place += 1
            pair = None if data in gone else self._pair(data, value)
            if pair is not None:
                yield pair
        for data in islice(own, place, None):
            pair = self._pair(data, None)
            if pair is not None:
                yield pair

    def _pair(self, data: bytes, stored: bytes | None) -> tuple[Any, Any] | None:
        """Return a key and its present value; None when it has none."""
        key = self._order.handle(data, _MISSING) if self._by_object else _MISSING
        if key is _MISSING:
            key = self._coding.key(data)
        handle = key if self._by_object else data
        found = self.dirty.get(handle, _MISSING)
        if found is _MISSING:
            if self._rows.is_deleted(data):
                return None
            found = self.clean.get(handle, _MISSING)
            if found is _MISSING:
                return None if stored is None else (key, self._coding.value(stored, key))
        return None if found is None else (key, self._opened(found, key))

    def rollback(self) -> None:
        """Undo what was put and deleted since the journal was opened."""
        for handle, before in reversed(self.journal or []):
            if handle is _RANGES:
                self._drop_deleted()  # also what is only absent because of them
                self._rows.deleted = before
            elif before is _MISSING:
                del self.dirty[handle]
            else:
                self.dirty[handle] = before
        if len(self.dirty) < len(self._order):
            self._order.forget()

    def changes(self) -> StoreChanges:
        """Return what was put and deleted, encoded and sorted by key.

        Raises:
            SerializationError: A key or value is not what its serde writes; names the
                store and the key.
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
        return StoreChanges(_without_deletions(pairs, self._rows.deleted), self._rows.deleted)

    def committed(self) -> None:
        """Take what was put as stored; it stays cached."""
        self._drop_stale()
        written = (d for bounds in self._rows.deleted for d in self._order.within(*bounds))
        for handle in [h for d in written if self.dirty[h := self._order.handle(d)] is None]:
            del self.dirty[handle]  # nobody asks for what has expired
        self.clean.update(self.dirty)
        self.dirty.clear()
        self._rows.deleted = ()
        self._order.forget()

    def forget(self) -> None:
        """Drop what was put, and all that is cached."""
        self.dirty.clear()
        self.clean.clear()
        self._rows.deleted = ()
        self._stale.clear()
        self._order.forget()

    def count(self) -> int:
        """Return about how many keys there are.

        A key that was put without being read counts as new, or when deleted, as absent.
        """
        self._drop_stale()
        known, more = self.clean, 0
        for handle, value in self.dirty.items():
            more += (value is not None) - (known.get(handle) is not None)
        return max(0, self._rows.count() + more)

    def _check(self, key: Any, value: Any) -> None:  # noqa: ANN401  # as above
        """Fail at once, where `changes` would fail later."""
        if self._by_object:
            self._coding.encode_key(key)
        if self._objects and value is not None:
            self._coding.encode_value(value, key)

    def _opened(self, found: Any, key: Any) -> Any:  # noqa: ANN401  # as above
        """Return a cached value as an object of the caller's own."""
        return found if self._objects or found is None else self._coding.value(found, key)


def _without_deletions(pairs: list[Pair], ranges: Sequence[KeyRange]) -> list[Pair]:
    """Leave out deletions of single keys that ranges delete anyway."""
    key, kept, done = itemgetter(0), list[Pair](), 0
    for start, end in ranges:
        low, high = bisect_left(pairs, start, key=key), bisect_left(pairs, end, key=key)
        kept += pairs[done:low]
        kept += [pair for pair in pairs[low:high] if pair[1] is not None]
        done = high
    return kept + pairs[done:] if ranges else pairs


def _in_own_order(handles: Iterable[Any]) -> list[Any]:
    """Sort handles by their own order, which mostly is their bytes' order, and cheaper."""
    found = list(handles)
    with suppress(TypeError):  # no order of their own
        found.sort()
    return found
