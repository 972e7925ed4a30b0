"""Durable objects below a prefix of a bucket."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from kstreams.errors import ObjectMissingError, StateCorruptError
from kstreams.sources import FileInfo
from kstreams.state import object_name_parts
from kstreams_gcs.client import make_client
from kstreams_gcs.failures import FAILURES, as_error
from kstreams_gcs.sdk import DEFAULT_RETRY, exceptions, media_exceptions

if TYPE_CHECKING:
    from google.cloud.storage import Blob, Bucket

    from kstreams_gcs.settings import GCS

__all__ = ("GcsObjectStore",)

T = TypeVar("T")
"""The result type of a request."""

_CREATED_BY = "kstreams-put"
_BINARY = "application/octet-stream"
_DELETED_AT_ONCE = 8
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_LISTED = "items(name,generation,size,updated),nextPageToken"


class GcsObjectStore:
    """An object of the contract is an object of the bucket, its name the prefix and its own.

    Safe for threads. Pickles as its settings: a process makes its own client, at its first
    request. Names are given once by the storage itself (`if_generation_match=0`).

    Args:
        settings: See there.
    """

    def __init__(self, settings: GCS) -> None:
        self._settings = settings
        self._prefix = settings.prefix
        self._made: tuple[int, Bucket] | None = None
        waits = (settings.connect_timeout, settings.read_timeout)
        self._options: dict[str, Any] = {
            "timeout": tuple(each.total_seconds() for each in waits),
            "retry": DEFAULT_RETRY.with_timeout(settings.give_up_after.total_seconds()),
        }

    def __repr__(self) -> str:
        return f"GcsObjectStore({self._settings.place!r})"

    def __reduce__(self) -> tuple[type[GcsObjectStore], tuple[GCS]]:
        return GcsObjectStore, (self._settings,)

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Create an object, durably and whole, unless its name exists already.

        A try of this call's that succeeded without a reply counts as the success it was: the
        object says by whom it was created.

        Raises:
            GcsUnavailableError: The storage was not to be reached for long. It may have the
                object all the same.
            GcsError: It refuses.
            ValueError: The name is not a relative path of plain parts.
        """
        key, token = self._key(name), uuid4().hex

        def create() -> bool:
            bucket = self._bucket
            blob = bucket.blob(key)
            blob.metadata = {_CREATED_BY: token}
            try:
                blob.upload_from_string(
                    data, content_type=_BINARY, if_generation_match=0, **self._options
                )
            except exceptions.PreconditionFailed:
                found = bucket.get_blob(key, **self._options)
                return found is not None and (found.metadata or {}).get(_CREATED_BY) == token
            return True

        return self._asked(create, f"write object {name!r}")

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """Return an object's bytes, or those from `start` on; fewer where it ends earlier.

        A whole object is checked by the CRC32C that the storage keeps of it.

        Raises:
            ObjectMissingError: There is no such object.
            StateCorruptError: It has come damaged.
            GcsError: The storage refuses, or was not to be reached for long.
        """
        key = self._key(name)
        if length == 0:
            return b""

        def read() -> bytes:
            return self._read(key, None, start, None if length is None else start + length - 1)

        return self._asked(read, f"read object {name!r}", missing=name)

    def read_version(self, file: FileInfo, start: int, length: int) -> bytes | None:
        """Return bytes of an object at a generation; None where that is not there any more.

        Raises:
            GcsError: The storage refuses, or was not to be reached for long.
        """
        stop = min(start + length, file.size)

        def read() -> bytes:
            found = self._read(self._prefix + file.name, int(file.version), start, stop - 1)
            if len(found) != stop - start:
                raise EOFError(f"{len(found)} of {stop - start} bytes have come")
            return found

        try:
            return self._asked(read, f"read object {file.name!r}", missing=file.name)
        except ObjectMissingError:
            return None

    def _read(self, key: str, generation: int | None, start: int, last: int | None) -> bytes:
        blob = self._bucket.blob(key, generation=generation)
        whole = start == 0 and last is None
        part: dict[str, Any] = (
            {"checksum": "crc32c"} if whole else {"checksum": None, "start": start, "end": last}
        )
        try:
            found: bytes = blob.download_as_bytes(raw_download=True, **part, **self._options)
        except exceptions.RequestRangeNotSatisfiable:
            return b""
        return found

    def move(self, name: str, to: str, *, replace: bool = False) -> bool:
        """Rename an object; return whether it existed.

        The object is copied within the storage and then deleted: for a moment it has both names,
        and a crash leaves both. An existing object of the new name stays, and this one is deleted;
        with `replace`, the existing one is replaced.

        Raises:
            GcsError: The storage rejects the request, or could not be reached.
            ValueError: A name is not a relative path of plain parts.
        """
        key, target = self._key(name), self._key(to)
        condition = {} if replace else {"if_generation_match": 0}

        def copy() -> None:
            self._rewrite(self._bucket.blob(key), target, condition)

        try:
            self._asked(copy, f"move object {name!r}", missing=name)
        except ObjectMissingError:
            return False
        self.delete([name])
        return True

    def retire(self, file: FileInfo, to: str) -> bool:
        """Delete an object at its generation, or rename it; return whether the new name is free.

        A repeated call does nothing, also after a kill: a copy has the same bytes.

        Raises:
            GcsError: The storage rejects the request, or could not be reached.
        """
        generation = int(file.version)

        def retire() -> bool:
            bucket = self._bucket
            found = bucket.get_blob(self._prefix + file.name, **self._options)
            if found is None or found.generation != generation:
                return True
            if to and not self._copied(found, self._key(to)):
                return False
            try:
                found.delete(if_generation_match=generation, **self._options)
            except (exceptions.NotFound, exceptions.PreconditionFailed):
                return True  # a lost answer, or it was written over
            return True

        return self._asked(retire, f"take object {file.name!r} away")

    def _copied(self, found: Blob, key: str) -> bool:
        """Copy an object within the storage; return whether the new name has its bytes."""
        other = self._bucket.get_blob(key, **self._options)
        if other is None:
            self._rewrite(found, key, {"if_generation_match": 0})
            other = self._bucket.get_blob(key, **self._options)
        same = other is not None and (other.size, other.crc32c) == (found.size, found.crc32c)
        return bool(same)

    def _rewrite(self, found: Blob, key: str, condition: Mapping[str, int]) -> None:
        """Copy an object within the storage, unless the other name is taken."""
        token: str | None = None
        while True:
            try:
                token, _, _ = self._bucket.blob(key).rewrite(
                    found, token=token, **condition, **self._options
                )
            except exceptions.PreconditionFailed:
                return
            if token is None:
                return

    def obstacle(self, name: str) -> str:
        """Return nothing: there are no folders that could be in the way of a name."""
        self._key(name)
        return ""

    def list(self, prefix: str) -> Iterator[str]:
        """Yield, in sorted order, the names that start with a prefix."""
        yield from sorted(each.name for each in self._listed(prefix))

    def listed(self) -> Sequence[FileInfo]:
        """Return all objects below the prefix, of any writer.

        Raises:
            GcsError: The storage rejects the request, or could not be reached.
        """
        return self._listed("")

    def _listed(self, prefix: str) -> Sequence[FileInfo]:
        def ask() -> Sequence[FileInfo]:
            bucket = self._bucket
            found = bucket.list_blobs(prefix=self._prefix + prefix, fields=_LISTED, **self._options)
            return tuple(
                FileInfo(
                    blob.name[len(self._prefix) :],
                    str(blob.generation),
                    blob.size or 0,
                    ((blob.updated or _EPOCH) - _EPOCH) // timedelta(milliseconds=1),
                )
                for blob in found
            )

        return self._asked(ask, f"list {prefix!r}")

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects, some at a time; names that do not exist are no error."""
        keys = [self._key(name) for name in names]

        def remove(key: str) -> None:
            try:
                self._bucket.blob(key).delete(**self._options)
            except exceptions.NotFound:
                return

        def remove_all() -> None:
            with ThreadPoolExecutor(_DELETED_AT_ONCE, "kstreams-gcs") as pool:
                for _ in pool.map(remove, keys):
                    pass

        self._asked(remove_all, f"delete {len(keys)} objects")

    @property
    def _bucket(self) -> Bucket:
        """The bucket by this process's client; one that a fork has brought along is left alone."""
        if self._made is None or self._made[0] != os.getpid():
            client = make_client(self._settings)
            self._made = os.getpid(), client.bucket(self._settings.bucket)
        return self._made[1]

    def _key(self, name: str) -> str:
        object_name_parts(name)
        return self._prefix + name

    def _asked(self, request: Callable[[], T], doing: str, *, missing: str | None = None) -> T:
        place = self._settings.place
        try:
            return request()
        except media_exceptions.DataCorruption as exc:
            raise StateCorruptError(
                f"{doing} of {place}: the object was damaged in each attempt",
                hint="restore the object from a copy or an older version.",
            ) from exc
        except FAILURES as exc:
            if missing is not None and isinstance(exc, exceptions.NotFound):
                raise ObjectMissingError(f"no object {missing!r} in {place}") from None
            raise as_error(exc, f"{doing} of {place}") from None  # its cause may have an address
