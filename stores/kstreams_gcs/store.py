"""Durable objects below a prefix of a bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from typing_extensions import override

from kstreams.errors import ObjectMissingError, StateCorruptError
from kstreams.sources import FileInfo
from kstreams_gcs.client import make_client
from kstreams_gcs.failures import FAILURES, as_error
from kstreams_gcs.sdk import DEFAULT_RETRY, exceptions, media_exceptions
from kstreams_objectstore import BucketStore, file_info

if TYPE_CHECKING:
    from google.cloud.storage import Blob, Bucket, Client

    from kstreams_gcs.settings import GCS

__all__ = ("GcsObjectStore",)

T = TypeVar("T")
"""The result type of a request."""

_CREATED_BY = "kstreams-put"
_BINARY = "application/octet-stream"
_DELETED_AT_ONCE = 8
_LISTED = "items(name,generation,size,updated),nextPageToken"


class GcsObjectStore(BucketStore["GCS", "Client"]):
    """Objects of a bucket of Google Cloud Storage.

    The storage itself rejects an existing name (`if_generation_match=0`).

    Args:
        settings: The bucket and the options of requests.
    """

    def __init__(self, settings: GCS) -> None:
        super().__init__(settings)
        waits = (settings.connect_timeout, settings.read_timeout)
        self._options: dict[str, Any] = {
            "timeout": tuple(each.total_seconds() for each in waits),
            "retry": DEFAULT_RETRY.with_timeout(settings.give_up_after.total_seconds()),
        }

    @override
    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Create an object, durably and atomically, unless its name exists already.

        If an attempt of this call succeeded but its reply was lost, the call still returns True:
        the object's metadata identify its creator.

        Raises:
            GcsUnavailableError: The storage was not reachable within `give_up_after`. The
                object may exist nevertheless.
            GcsError: The storage rejects the request.
            ValueError: The name is not a relative path, or has an empty, `.` or `..` part.
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

        return self._request(create, f"write object {name!r}")

    @override
    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """Return an object's bytes, or a range of at most `length` bytes from `start` on.

        A whole object is checked by the CRC32C that the storage has computed.

        Raises:
            ObjectMissingError: The object does not exist.
            StateCorruptError: The received object is damaged.
            GcsError: The storage rejects the request, or was not reachable within `give_up_after`.
        """
        key = self._key(name)
        if length == 0:
            return b""

        def read() -> bytes:
            return self._read(key, None, start, None if length is None else start + length - 1)

        return self._request(read, f"read object {name!r}", missing=name)

    @override
    def read_version(self, file: FileInfo, start: int, length: int) -> bytes | None:
        stop = min(start + length, file.size)

        def read() -> bytes:
            found = self._read(self._prefix + file.name, int(file.version), start, stop - 1)
            if len(found) != stop - start:
                raise EOFError(f"only {len(found)} of {stop - start} bytes were received")
            return found

        try:
            return self._request(read, f"read object {file.name!r}", missing=file.name)
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

    @override
    def retire(self, file: FileInfo, to: str) -> bool:
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

        return self._request(retire, f"take object {file.name!r} away")

    @override
    def _copy(self, key: str, to: str, *, replace: bool) -> None:
        condition = {} if replace else {"if_generation_match": 0}
        self._rewrite(self._bucket.blob(key), to, condition)

    def _copied(self, found: Blob, key: str) -> bool:
        """Copy an object within the storage; return whether the new name has its bytes."""
        other = self._bucket.get_blob(key, **self._options)
        if other is None:
            self._rewrite(found, key, {"if_generation_match": 0})
            other = self._bucket.get_blob(key, **self._options)
        same = other is not None and (other.size, other.crc32c) == (found.size, found.crc32c)
        return bool(same)

    def _rewrite(self, found: Blob, key: str, condition: Mapping[str, int]) -> None:
        """Copy an object within the storage, if the condition holds for the new name."""
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

    @override
    def list(self, prefix: str) -> Iterator[str]:
        yield from sorted(each.name for each in self._listed(prefix))

    @override
    def listed(self) -> Sequence[FileInfo]:
        return self._listed("")

    def _listed(self, prefix: str) -> Sequence[FileInfo]:
        def ask() -> Sequence[FileInfo]:
            bucket = self._bucket
            found = bucket.list_blobs(prefix=self._prefix + prefix, fields=_LISTED, **self._options)
            return tuple(
                file_info(
                    blob.name[len(self._prefix) :], str(blob.generation), blob.size, blob.updated
                )
                for blob in found
            )

        return self._request(ask, f"list {prefix!r}")

    @override
    def delete(self, names: Iterable[str]) -> None:
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

        self._request(remove_all, f"delete {len(keys)} objects")

    @override
    def _make_client(self) -> Client:
        return make_client(self._settings)

    @property
    def _bucket(self) -> Bucket:
        """The bucket, with the client of this process."""
        return self._client.bucket(self._settings.bucket)

    @override
    def _request(self, request: Callable[[], T], doing: str, *, missing: str | None = None) -> T:
        place = self._settings.place
        try:
            return request()
        except media_exceptions.DataCorruption as exc:
            raise StateCorruptError(
                f"cannot {doing} of {place}: the received data was damaged in each attempt",
                hint="restore the object from a copy or an older version.",
            ) from exc
        except FAILURES as exc:
            if missing is not None and isinstance(exc, exceptions.NotFound):
                raise ObjectMissingError(f"no object {missing!r} in {place}") from None
            raise as_error(exc, f"{doing} of {place}") from None  # its cause may have an address
