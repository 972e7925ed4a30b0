"""Reads of packs: tasks that restore their state from the same packs share one request for each.

A restart on an empty machine restores each task from a few parts of packs, and each pack has parts
of many tasks. The first read of a pack requests only its range, because the other parts may belong
to tasks of other workers. The second read requests the whole pack, for all further reads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future

from typing_extensions import override

from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.packs import PACK_SUFFIX

__all__ = ("PackCache", "PackReads")

_MOST_BYTES = 16 * 1024 * 1024
_MOST_NAMES = 10_000


class PackCache:
    """Packs in memory, up to a total size. Thread-safe.

    Above this size, the packs whose last read is the longest ago are removed.

    Args:
        most_bytes: The maximum total size, besides packs that are being read.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._read_once: dict[str, None] = {}
        self._packs: dict[str, Future[bytes]] = {}
        self._size_bytes = 0

    def read(self, objects: ObjectStore, name: str, start: int, length: int) -> bytes:
        """Return a range of a pack.

        Args:
            objects: The durable log, from which a pack is read that is not in memory.
            name: The name of the pack.
            start: The start of the range, in bytes.
            length: The length of the range, in bytes.

        Raises:
            ObjectMissingError: The pack does not exist.
        """
        with self._lock:
            pack = self._packs.pop(name, None)
            begun = pack is not None
            if pack is None and name in self._read_once:
                pack = Future()
            if pack is None:
                self._note_first_read(name)
            else:
                self._packs[name] = pack  # the last: used most recently
        if pack is None:
            return objects.get(name, start, length)
        if not begun:
            self._fill(pack, objects, name)
        return pack.result()[start : start + length]

    def _note_first_read(self, name: str) -> None:
        self._read_once[name] = None
        if len(self._read_once) > _MOST_NAMES:
            del self._read_once[next(iter(self._read_once))]

    def _fill(self, pack: Future[bytes], objects: ObjectStore, name: str) -> None:
        try:
            data = objects.get(name)
        except BaseException as error:
            with self._lock:
                self._packs.pop(name, None)
            pack.set_exception(error)
            raise
        with self._lock:
            pack.set_result(data)
            self._size_bytes += len(data)
            complete = [(each, found) for each, found in self._packs.items() if found.done()]
            for oldest, found in complete:
                if self._size_bytes <= self._most_bytes:
                    break
                del self._packs[oldest]
                self._size_bytes -= len(found.result())


class PackReads(ObjectStore):
    """An object store that reads packs through a cache.

    Args:
        objects: The object store.
        cache: The cache, which other object stores with the same objects may share.
    """

    def __init__(self, objects: ObjectStore, cache: PackCache) -> None:
        self._objects = objects
        self._cache = cache

    def __repr__(self) -> str:
        return repr(self._objects)

    @override
    def put_if_absent(self, name: str, data: bytes) -> bool:
        return self._objects.put_if_absent(name, data)

    @override
    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        if length is None or not name.endswith(PACK_SUFFIX):
            return self._objects.get(name, start, length)
        return self._cache.read(self._objects, name, start, length)

    @override
    def list(self, prefix: str) -> Iterator[str]:
        return self._objects.list(prefix)

    @override
    def delete(self, names: Iterable[str]) -> None:
        self._objects.delete(names)
