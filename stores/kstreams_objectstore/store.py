"""The base of object stores in buckets."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any, Generic, TypeVar

from kstreams.errors import ObjectMissingError
from kstreams.sources import FileInfo
from kstreams.state import ObjectStore, object_name_parts
from kstreams_objectstore.settings import BucketSettings

__all__ = ("BucketStore", "file_info")

S = TypeVar("S", bound=BucketSettings)
"""Type of the settings."""
C = TypeVar("C")
"""Type of the storage's client."""
T = TypeVar("T")
"""The result type of a request."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class BucketStore(ObjectStore, Generic[S, C]):
    """An `ObjectStore` in a bucket: the key of an object is the prefix and the object's name.

    Safe for threads. Pickles as its settings: a process opens its own client, at its first
    request. Also the storage of file sinks (`move`, `obstacle`) and of sources (`listed`,
    `read_version`, `retire`). Errors are `StoreError` and `SourceError`.

    Args:
        settings: The bucket and the options of requests.
    """

    def __init__(self, settings: S) -> None:
        self._settings = settings
        self._prefix = settings.prefix
        self._made: tuple[int, C] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings.place!r})"

    def __reduce__(self) -> tuple[type[BucketStore[Any, Any]], tuple[S]]:
        return type(self), (self._settings,)

    @abstractmethod
    def listed(self) -> Sequence[FileInfo]:
        """Return all objects below the prefix, of any writer.

        Raises:
            SourceError: The storage rejects the request, or could not be reached.
        """

    @abstractmethod
    def read_version(self, file: FileInfo, start: int, length: int) -> bytes | None:
        """Return bytes of an object at its version; None if this version no longer exists.

        Raises:
            SourceError: The storage rejects the request, or could not be reached.
        """

    @abstractmethod
    def retire(self, file: FileInfo, to: str) -> bool:
        """Rename an object at its version to `to`; delete it if `to` is empty.

        A repeated call does nothing, also if a process was killed during the first call.

        Returns:
            False if another object has the new name, which then stays; else True.

        Raises:
            SourceError: The storage rejects the request, or could not be reached.
        """

    def move(self, name: str, to: str, *, replace: bool = False) -> bool:
        """Rename an object; return whether it existed.

        The object is copied within the storage and then deleted: for a moment it has both names,
        and a crash leaves both. An existing object of the new name stays, and this one is deleted;
        with `replace`, the existing one is replaced.

        Raises:
            StoreError: The storage rejects the request, or could not be reached.
            ValueError: A name is not a relative path, or has an empty, `.` or `..` part.
        """
        copy = partial(self._copy, self._key(name), self._key(to), replace=replace)
        try:
            self._request(copy, f"move object {name!r}", missing=name)
        except ObjectMissingError:
            return False
        self.delete([name])
        return True

    def obstacle(self, name: str) -> str:
        """Return an empty text: there are no folders that could block a name."""
        self._key(name)
        return ""

    @abstractmethod
    def _make_client(self) -> C:
        """Return a new client."""

    @abstractmethod
    def _copy(self, key: str, to: str, *, replace: bool) -> None:
        """Copy an object; without `replace`, do nothing if the target key exists."""

    @abstractmethod
    def _request(self, request: Callable[[], T], doing: str, *, missing: str | None = None) -> T:
        """Return the result of a request, with retries and typed errors.

        Args:
            request: The request, which is safe to repeat.
            doing: The request in error texts: `read object 'x'`.
            missing: The name of an object that may be missing.

        Raises:
            ObjectMissingError: The storage has no object `missing`.
        """

    @property
    def _client(self) -> C:
        """The client of this process; a client inherited by a fork is not used."""
        if self._made is None or self._made[0] != os.getpid():
            self._made = os.getpid(), self._make_client()
        return self._made[1]

    def _key(self, name: str) -> str:
        object_name_parts(name)
        return self._prefix + name


def file_info(name: str, version: str, size: int | None, modified: datetime | None) -> FileInfo:
    """Describe a listed object; a missing size is 0, and a missing time is 1970-01-01."""
    return FileInfo(
        name, version, size or 0, ((modified or _EPOCH) - _EPOCH) // timedelta(milliseconds=1)
    )
