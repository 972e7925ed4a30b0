"""Counts of the requests to durable storage, which may cost money."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from typing_extensions import override

from kstreams.state.backend.objects import ObjectStore

__all__ = ("CountedObjects", "Traffic")


@dataclass(frozen=True)
class Traffic:
    """Calls of an object store, and the bytes of objects' contents.

    A call is usually one request; a large object or list takes several requests, and failed
    requests are retried.

    Attributes:
        puts: The number of attempts to create an object, including those whose name existed.
        put_bytes: The bytes of these objects.
        gets: The number of reads of objects or ranges of objects.
        get_bytes: The number of bytes that were read.
        lists: The number of calls that list names.
        deletes: The number of deleted objects.
    """

    puts: int = 0
    put_bytes: int = 0
    gets: int = 0
    get_bytes: int = 0
    lists: int = 0
    deletes: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        """Return the sum."""
        return Traffic(
            self.puts + other.puts,
            self.put_bytes + other.put_bytes,
            self.gets + other.gets,
            self.get_bytes + other.get_bytes,
            self.lists + other.lists,
            self.deletes + other.deletes,
        )

    def __str__(self) -> str:
        """Return all counts as text, sizes in bytes."""
        return (
            f"{self.puts} PUT of {self.put_bytes} bytes, "
            f"{self.gets} GET of {self.get_bytes} bytes, {self.lists} LIST, {self.deletes} DELETE"
        )

    def to_json(self) -> list[int]:
        """Return plain data for JSON."""
        return [
            self.puts,
            self.put_bytes,
            self.gets,
            self.get_bytes,
            self.lists,
            self.deletes,
        ]

    @classmethod
    def from_json(cls, data: Iterable[int]) -> Traffic:
        """Parse the result of `to_json`."""
        return cls(*data)


class CountedObjects(ObjectStore):
    """An object store that counts its requests; thread-safe.

    Args:
        objects: The object store.
    """

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._mutex = threading.Lock()
        self._traffic = Traffic()

    def __repr__(self) -> str:
        return repr(self._objects)

    def take(self) -> Traffic:
        """Return the counts of requests since the last call, and set them to zero."""
        with self._mutex:
            taken, self._traffic = self._traffic, Traffic()
        return taken

    @override
    def put_if_absent(self, name: str, data: bytes) -> bool:
        self._note(Traffic(puts=1, put_bytes=len(data)))
        return self._objects.put_if_absent(name, data)

    @override
    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        data = self._objects.get(name, start, length)
        self._note(Traffic(gets=1, get_bytes=len(data)))
        return data

    @override
    def list(self, prefix: str) -> Iterator[str]:
        self._note(Traffic(lists=1))
        return self._objects.list(prefix)

    @override
    def delete(self, names: Iterable[str]) -> None:
        gone = tuple(names)
        self._note(Traffic(deletes=len(gone)))
        self._objects.delete(gone)

    def _note(self, more: Traffic) -> None:
        with self._mutex:
            self._traffic += more
