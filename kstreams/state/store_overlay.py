"""One store's part of an attempt's write-back cache.

It keeps Python objects: a hot key costs a dict look-up, whatever the backend; or bytes,
where whole columns are worked on.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from heapq import merge
from itertools import islice
from operator import itemgetter, lt
from typing import Any, Final

import pyarrow as pa

from kstreams.errors import SerdeError
from kstreams.serde.base import Serde
from kstreams.serde.objects import objects_of
from kstreams.state.working import WorkingStore

__all__ = ("StoreOverlay",)

_MISSING: Final = object()
"""Stands for "not in this cache", which differs from None: known to have no value."""

_FEW = 32


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
        self._key = key.ordered
        self._value = value
        self._base = base
        self._by_object = self._key.hashes_by_bytes and not encoded
        self._objects = value.immutable and not encoded
        self.encoded = encoded
        self._sorted: list[bytes] = []
        self._handles: dict[bytes, Any] = {}
        plain = self._by_object and self._objects
        self.get: Callable[[Any], Any] = self._plain_get() if plain else self._get

    def keep_bytes(self) -> None:
        """Cache keys and values as their bytes from here on, for work on whole columns.

        Everything else stays as it is: what asks by objects has them encoded and decoded
        at each call.
        """
        self.encoded = True
        if not (self._by_object or self._objects):
            return
        dirty, clean = dict(self.changes()), self._encoded(self.clean)
        self._by_object = self._objects = False
        self.get = self._get
        for cache, found in ((self.dirty, dirty), (self.clean, clean)):
            cache.clear()
            cache.update(found)
        self._unsort()

    def _encoded(self, cache: dict[Any, Any]) -> dict[Any, Any]:
        keys, values = list(cache), list(cache.values())
        if self._objects:
            values = self._encode_many(self._value, values, keys)
        if self._by_object:
            keys = self._encode_many(self._key, keys)
        return dict(zip(keys, values, strict=True))

    def get_bytes(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return many encoded values, after `keep_bytes`; one read of the backend."""
        dirty, clean = self.dirty, self.clean
        wanted = [key for key in keys if key not in dirty and key not in clean]
        if wanted:
            clean.update(zip(wanted, self._base.multi_get(self.name, wanted), strict=True))
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
        written = self._written(start, end)
        if reverse:
            written.reverse()
        stored = self._base.scan(self.name, start, end, reverse=reverse)
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
        if not (self._by_object and self._objects):
            return get

        def read(key: Any) -> Any:  # noqa: ANN401  # the store's own types, erased here
            found = dirty(key, _MISSING)
            if found is _MISSING:
                if bound is not None and key < bound:
                    return get(key)
                found = clean(key)
            return found

        return read

    def _plain_get(self) -> Callable[[Any], Any]:
        dirty, clean, load = self.dirty.get, self.clean.get, self._load

        def get(key: Any) -> Any:  # noqa: ANN401  # the store's own types, erased here
            found = dirty(key, _MISSING)
            if found is _MISSING:
                found = clean(key, _MISSING)
                if found is _MISSING:
                    found = load(key, key)
            return found

        return get

    def _get(self, key: Any) -> Any:  # noqa: ANN401  # as above
        handle = key if self._by_object else self._encode(self._key, key, key)
        found = self.dirty.get(handle, _MISSING)
        if found is _MISSING:
            found = self.clean.get(handle, _MISSING)
            if found is _MISSING:
                found = self._load(key, handle)
        return self._opened(found, key)

    def _load(self, key: Any, handle: Any) -> Any:  # noqa: ANN401  # as above
        """Read a key that is in no cache."""
        encoded = self._encode(self._key, key, key) if self._by_object else handle
        data = self._base.get(self.name, encoded)
        found = data if data is None or not self._objects else self._decode(data, key)
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
        handles = keys if self._by_object else [self._encode(self._key, k, k) for k in keys]
        clean = self.clean
        # Sorted, because a tree of blocks is read faster in order.
        wanted = _in_own_order(set(handles).difference(clean).difference(self.dirty))
        if wanted:
            encoded = self._encode_many(self._key, wanted) if self._by_object else wanted
            data = self._base.multi_get(self.name, encoded)
            clean.update(zip(wanted, self._decode_many(data, encoded), strict=True))
        return handles

    def share_cached(self, keys: Sequence[Any]) -> float:
        """Return how large a part of some keys (one or more, all different) is cached."""
        handles = keys if self._by_object else [self._encode(self._key, k, k) for k in keys]
        return sum(h in self.dirty or h in self.clean for h in handles) / len(handles)

    def put(self, key: Any, value: Any) -> None:  # noqa: ANN401  # as above
        """Set a key's value; None deletes."""
        handle = key if self._by_object else self._encode(self._key, key, key)
        if not self._objects and value is not None:
            value = self._encode(self._value, value, key)
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

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[Any, Any]]:
        """Return an iterator over decoded pairs with `start <= key bytes < end`, in order.

        The keys are those that have a value at the call; each is seen with the value it
        has when it is reached, and left out if it has none any more.
        """
        written = self._written(start, end)
        if reverse:
            written.reverse()
        dirty, handles = self.dirty, self._handles
        gone = {d for d in written if dirty[handles[d] if self._by_object else d] is None}
        own = [data for data in written if data not in gone] if gone else written
        stored = self._base.scan(self.name, start, end, reverse=reverse)
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
        key = self._handles.get(data, _MISSING) if self._by_object else _MISSING
        if key is _MISSING:
            key = self._key.deserialize(data)
        handle = key if self._by_object else data
        found = self.dirty.get(handle, _MISSING)
        if found is _MISSING:
            found = self.clean.get(handle, _MISSING)
            if found is _MISSING:
                return None if stored is None else (key, self._decode(stored, key))
        return None if found is None else (key, self._opened(found, key))

    def _written(self, start: bytes | None, end: bytes | None) -> list[bytes]:
        """Return the bytes of keys that were put, in order."""
        fresh = list(islice(self.dirty, len(self._sorted), None))
        if fresh:
            encoded = self._encode_many(self._key, fresh) if self._by_object else fresh
            if self._by_object:
                self._handles.update(zip(encoded, fresh, strict=True))
            if len(encoded) <= _FEW:
                for data in encoded:
                    insort(self._sorted, data)
            else:
                self._sorted = sorted(self._sorted + encoded)
        low = 0 if start is None else bisect_left(self._sorted, start)
        high = len(self._sorted) if end is None else bisect_left(self._sorted, end)
        return self._sorted[low:high]

    def rollback(self) -> None:
        """Undo what was put since the journal was opened."""
        for handle, before in reversed(self.journal or []):
            if before is _MISSING:
                del self.dirty[handle]
            else:
                self.dirty[handle] = before
        if len(self.dirty) < len(self._sorted):
            self._unsort()

    def changes(self) -> list[tuple[bytes, bytes | None]]:
        """Return what was put, encoded and sorted by key.

        Raises:
            SerializationError: A key or value is not what its serde writes; names the
                store and the key.
        """
        keys = _in_own_order(self.dirty)
        data = list(map(self.dirty.__getitem__, keys))
        if self._objects:
            data = self._encode_many(self._value, data, keys)
        if self._by_object:
            keys = self._encode_many(self._key, keys)
        pairs = zip(keys, data, strict=True)
        return list(pairs) if all(map(lt, keys, keys[1:])) else sorted(pairs, key=itemgetter(0))

    def committed(self) -> None:
        """Take what was put as stored; it stays cached."""
        self.clean.update(self.dirty)
        self.dirty.clear()
        self._unsort()

    def forget(self) -> None:
        """Drop what was put, and all that is cached."""
        self.dirty.clear()
        self.clean.clear()
        self._unsort()

    def _unsort(self) -> None:
        self._sorted = []
        self._handles = {}

    def count(self) -> int:
        """Return about how many keys there are.

        A key that was put without being read counts as new, or when deleted, as absent.
        """
        known, more = self.clean, 0
        for handle, value in self.dirty.items():
            more += (value is not None) - (known.get(handle) is not None)
        return max(0, self._base.count(self.name) + more)

    def _check(self, key: Any, value: Any) -> None:  # noqa: ANN401  # as above
        """Fail at once, where `changes` would fail later."""
        if self._by_object:
            self._encode(self._key, key, key)
        if self._objects and value is not None:
            self._encode(self._value, value, key)

    def _opened(self, found: Any, key: Any) -> Any:  # noqa: ANN401  # as above
        """Return a cached value as an object of the caller's own."""
        return found if self._objects or found is None else self._decode(found, key)

    def _encode(self, serde: Serde[Any], item: Any, key: Any) -> bytes:  # noqa: ANN401
        try:
            return serde.serialize(item)
        except SerdeError as exc:
            exc.at(store=self.name, key=key)
            raise

    def _decode(self, data: bytes, key: Any) -> Any:  # noqa: ANN401  # as above
        try:
            return self._value.deserialize(data)
        except SerdeError as exc:
            exc.at(store=self.name, key=key)
            raise

    def _encode_many(
        self, serde: Serde[Any], items: list[Any], keys: list[Any] | None = None
    ) -> list[Any]:
        """Encode in bulk; None is a deletion among values, and no key."""
        try:
            array = serde.serialize_many(items)
            if keys is not None or not array.null_count:
                return objects_of(array)
        except SerdeError:
            pass
        return [
            None if keys is not None and item is None else self._encode(serde, item, key)
            for item, key in zip(items, keys or items, strict=True)
        ]

    def _decode_many(self, data: list[bytes | None], keys: Sequence[bytes]) -> list[Any]:
        """Decode in bulk what is cached as objects."""
        if not self._objects:
            return data
        try:
            return self._value.deserialize_many(pa.array(data, pa.binary()))
        except SerdeError:
            decode_key = self._key.deserialize
            return [
                None if item is None else self._decode(item, decode_key(key))
                for item, key in zip(data, keys, strict=True)
            ]


def _in_own_order(handles: Iterable[Any]) -> list[Any]:
    """Sort handles by their own order, which mostly is their bytes' order, and cheaper."""
    found = list(handles)
    with suppress(TypeError):  # no order of their own
        found.sort()
    return found
