"""Durable objects below a prefix of a bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from typing_extensions import override

from kstreams.errors import ObjectMissingError, StateCorruptError, StoreOpenError
from kstreams.sources import FileInfo
from kstreams_objectstore import BucketStore
from kstreams_s3.client import make_client, origin_of, secrets_of
from kstreams_s3.create import Creation
from kstreams_s3.failures import answer, as_error
from kstreams_s3.keys import (
    DELETED_AT_ONCE,
    copy_key,
    delete_keys,
    keys_below,
    objects_below,
    retire_key,
)
from kstreams_s3.multipart import abort_stale_uploads, put_in_parts
from kstreams_s3.read import DamagedError, ReplacedError, read_range, read_version, read_whole
from kstreams_s3.retry import Unsettled, retried
from kstreams_s3.sdk import exceptions

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

    from kstreams_s3.settings import S3

__all__ = ("S3ObjectStore",)

T = TypeVar("T")
"""The result type of a request."""

_PROOF = ".kstreams"
_PROOF_BODY = b"kstreams keeps state below this prefix\n"
_READS_BEFORE_DAMAGED = 3


class S3ObjectStore(BucketStore["S3", "S3Client"]):
    """Objects of a bucket of S3. `move` copies objects of up to 5 GB.

    Before its first creation of an object, the store checks that the storage rejects existing
    names: some storages report success and overwrite the object.

    Args:
        settings: The bucket and the options of requests.
    """

    def __init__(self, settings: S3) -> None:
        super().__init__(settings)
        self._bucket = settings.bucket
        self._proved = False
        self._swept = False

    @override
    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Create an object durably and completely, unless its name exists.

        An attempt of this call that succeeded without a reply counts as a success.

        Raises:
            S3Error: The storage rejects the request, or could not be reached. In the second case
                the object may exist nevertheless.
            StoreOpenError: The storage overwrites objects that it should keep.
            ValueError: The name is not a relative path, or has an empty, `.` or `..` part.
        """
        key = self._key(name)
        doing = f"write object {name!r}"
        self._request(self._prove, doing)
        creation = Creation(self._client, self._bucket, key, data)
        if len(data) <= self._settings.multipart_bytes:
            return self._request(creation.put, doing)
        self._sweep()
        return self._request(partial(put_in_parts, creation, self._settings.part_bytes), doing)

    @override
    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """Return an object's bytes, or a range of at most `length` bytes from `start` on.

        A whole object is checked by the SHA-256 in its metadata; a large object is read in
        parallel ranges.

        Raises:
            ObjectMissingError: The object does not exist.
            StateCorruptError: The received object was damaged in each attempt.
            S3Error: The storage rejects the request, or was not reachable within `give_up_after`.
        """
        client, bucket, key = self._client, self._bucket, self._key(name)
        if start or length is not None:
            read = partial(read_range, client, bucket, key, start, length)
        else:
            read = partial(read_whole, client, bucket, key, self._settings.part_bytes)
        damage = ""
        for _ in range(_READS_BEFORE_DAMAGED):
            try:
                return self._request(read, f"read object {name!r}", missing=name)
            except DamagedError as error:
                damage = str(error)
        raise StateCorruptError(
            f"object {name!r} of {self._settings.place} is damaged: {damage}",
            hint="Restore the object from a copy or an older version.",
        )

    @override
    def list(self, prefix: str) -> Iterator[str]:
        list_keys = partial(keys_below, self._client, self._bucket, self._prefix + prefix)
        for key in self._request(list_keys, f"list {prefix!r}"):
            if key != self._prefix + _PROOF:
                yield key[len(self._prefix) :]

    @override
    def listed(self) -> Sequence[FileInfo]:
        below = partial(objects_below, self._client, self._bucket, self._prefix)
        return self._request(below, "list the objects")

    @override
    def read_version(self, file: FileInfo, start: int, length: int) -> bytes | None:
        name, etag = file.name, file.version
        read = partial(
            read_version, self._client, self._bucket, self._prefix + name, etag, start, length
        )
        try:
            return self._request(read, f"read object {name!r}", missing=name)
        except (ObjectMissingError, ReplacedError):
            return None

    @override
    def retire(self, file: FileInfo, to: str) -> bool:
        key, target = self._prefix + file.name, self._key(to) if to else ""
        retire = partial(retire_key, self._client, self._bucket, key, file.version, target)
        return self._request(retire, f"take object {file.name!r} away")

    @override
    def delete(self, names: Iterable[str]) -> None:
        keys = [self._key(name) for name in names]
        for start in range(0, len(keys), DELETED_AT_ONCE):
            some = keys[start : start + DELETED_AT_ONCE]
            delete_some = partial(delete_keys, self._client, self._bucket, some)
            self._request(delete_some, f"delete {len(some)} objects")

    @override
    def _make_client(self) -> S3Client:
        return self._translated(partial(make_client, self._settings), "reach")

    @override
    def _copy(self, key: str, to: str, *, replace: bool) -> None:
        copy_key(self._client, self._bucket, key, to, replace=replace)

    def _prove(self) -> None:
        """Check, once per process, that the storage rejects the creation of an existing name."""
        if self._proved:
            return
        for _ in range(2):
            first = Creation(self._client, self._bucket, self._prefix + _PROOF, _PROOF_BODY)
            if not first.put():
                self._proved = True
                return
        raise StoreOpenError(
            f"{self._settings.place} overwrites an object although the request forbids it "
            "(If-None-Match: * on PutObject)",
            hint="Use a storage with conditional writes: without them two drivers could "
            "commit the same batch.",
        )

    def _sweep(self) -> None:
        """Abort, once per process, the multipart uploads that killed processes have left."""
        if not self._swept:
            self._swept = True
            abort_stale_uploads(self._client, self._bucket, self._prefix)

    @override
    def _request(self, request: Callable[[], T], doing: str, *, missing: str | None = None) -> T:
        seconds = self._settings.give_up_after.total_seconds()
        return self._translated(partial(retried, request, seconds), f"{doing} of", missing=missing)

    def _translated(self, request: Callable[[], T], doing: str, *, missing: str | None = None) -> T:
        place = self._settings.place
        try:
            return request()
        except (exceptions.ClientError, exceptions.BotoCoreError, Unsettled) as error:
            code, status, _ = answer(error)
            if missing is not None and status == 404 and code != "NoSuchBucket":
                raise ObjectMissingError(f"no object {missing!r} in {place}") from None
            known = (self._settings.secret_key, self._settings.session_token)
            used = secrets_of(self._made[1]) if self._made else ()
            origin = origin_of(self._made[1]) if self._made else ""
            secrets = tuple(secret for secret in (*known, *used) if secret)
            # Without its cause, which may repeat the session token.
            raise as_error(error, f"{doing} {place}", secrets, origin) from None
