"""Read an object completely, in parallel ranges, and check it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from kstreams_s3.create import DIGEST
from kstreams_s3.failures import answer
from kstreams_s3.retry import Unsettled
from kstreams_s3.sdk import exceptions

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

__all__ = ("DamagedError", "ReplacedError", "read_range", "read_version", "read_whole")

_PARALLEL_RANGES = 4


class DamagedError(Exception):
    """An object does not match the digest in its metadata; never leaves this package."""


class ReplacedError(Exception):
    """An object is not the requested version; never leaves this package."""


@dataclass(frozen=True)
class _Piece:
    """A range of an object's bytes, with size, ETag and stored digest of the whole object."""

    data: bytes
    size_bytes: int
    etag: str
    digest: str | None


def read_whole(client: S3Client, bucket: str, key: str, part_bytes: int) -> bytes:
    """Return an object's bytes, checked against the digest in its metadata.

    Raises:
        DamagedError: The bytes do not match the digest.
        Unsettled: The object was replaced meanwhile.
    """
    piece = _read(client, bucket, key, 0, part_bytes)
    data = piece.data + _rest(client, bucket, key, piece, part_bytes)
    if len(data) != piece.size_bytes:
        raise DamagedError(f"only {len(data)} of its {piece.size_bytes} bytes were received")
    if piece.digest is not None and sha256(data).hexdigest() != piece.digest:
        raise DamagedError(f"its {len(data)} bytes do not match the SHA-256 in its metadata")
    return data


def read_range(client: S3Client, bucket: str, key: str, start: int, length: int | None) -> bytes:
    """Return the existing bytes of a range of an object; they are not checked by a digest."""
    if length == 0:
        client.head_object(Bucket=bucket, Key=key)
        return b""
    return _read(client, bucket, key, start, length).data


def read_version(
    client: S3Client, bucket: str, key: str, etag: str, start: int, length: int
) -> bytes:
    """Return the existing bytes of a range of an object with an ETag.

    Raises:
        ReplacedError: The object has another ETag.
    """
    try:
        piece = _read(client, bucket, key, start, length, etag)
    except Unsettled as error:
        raise ReplacedError(key) from error
    if piece.etag != etag:  # a storage that does not look at If-Match
        raise ReplacedError(key)
    return piece.data


def _rest(client: S3Client, bucket: str, key: str, first: _Piece, part_bytes: int) -> bytes:
    starts = range(part_bytes, first.size_bytes, part_bytes)
    if not starts:
        return b""
    with ThreadPoolExecutor(_PARALLEL_RANGES, "kstreams-ranges") as pool:
        pieces = pool.map(
            lambda start: _read(client, bucket, key, start, part_bytes, first.etag).data, starts
        )
        return b"".join(pieces)


def _read(
    client: S3Client, bucket: str, key: str, start: int, length: int | None, etag: str = ""
) -> _Piece:
    end = "" if length is None else str(start + length - 1)
    span = f"bytes={start}-{end}"
    try:
        if etag:
            found = client.get_object(Bucket=bucket, Key=key, Range=span, IfMatch=etag)
        else:
            found = client.get_object(Bucket=bucket, Key=key, Range=span)
    except exceptions.ClientError as error:
        status = answer(error).status
        if status == 416:  # the object ends before the range begins; an empty one always does
            return _Piece(b"", 0, "", None)
        if status == 412:
            raise Unsettled(f"object {key} was replaced during the read") from error
        raise
    with closing(found["Body"]) as body:  # as a context manager it returns the wrapped stream
        data = body.read()
    total = found.get("ContentRange", "").rpartition("/")[2]
    size = int(total) if total.isdigit() else len(data)
    return _Piece(data, size, found["ETag"], found["Metadata"].get(DIGEST))
