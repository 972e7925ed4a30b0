"""Lists, copies and deletes keys of a bucket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kstreams.sources import FileInfo
from kstreams_objectstore import file_info
from kstreams_s3.failures import answer
from kstreams_s3.sdk import exceptions

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client
    from types_boto3_s3.type_defs import HeadObjectOutputTypeDef

__all__ = (
    "DELETED_AT_ONCE",
    "copy_key",
    "delete_keys",
    "keys_below",
    "objects_below",
    "retire_key",
)

_MISSING = 404
_COPY_OF = "kstreams-copy-of"
"""The name of a moved object's metadata field with the ETag of the original."""

DELETED_AT_ONCE = 1000
"""The maximum number of keys in one delete request: the limit of S3."""


def keys_below(client: S3Client, bucket: str, prefix: str) -> list[str]:
    """Return the keys that start with a prefix, sorted.

    The function sorts the keys, because some storages list them folder by folder.
    """
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return sorted(
        key for page in pages for item in page.get("Contents", ()) if (key := item.get("Key"))
    )


def copy_key(client: S3Client, bucket: str, key: str, to: str, *, replace: bool) -> None:
    """Copy an object of up to 5 GB within the storage.

    Without `replace`, the function does nothing if the key `to` exists.
    """
    if not replace and _head(client, bucket, to) is not None:
        return
    client.copy_object(Bucket=bucket, Key=to, CopySource={"Bucket": bucket, "Key": key})


def retire_key(client: S3Client, bucket: str, key: str, etag: str, to: str) -> bool:
    """Delete an object with an ETag, or rename it; return False if another object has the new key.

    The copy records the ETag of its original, so that a repeated call recognizes the copy of a
    killed process.

    Args:
        client: The client of the bucket.
        bucket: The bucket.
        key: The key; the call does nothing if the object is missing or has another ETag.
        etag: The required ETag.
        to: The new key; empty deletes the object.
    """
    found = _head(client, bucket, key)
    if found is None or found["ETag"] != etag:
        return True
    if to:
        mark = etag.strip('"')
        other = _head(client, bucket, to)
        if other is not None and other["Metadata"].get(_COPY_OF) != mark:
            return False
        if other is None:
            client.copy_object(
                Bucket=bucket,
                Key=to,
                CopySource={"Bucket": bucket, "Key": key},
                CopySourceIfMatch=etag,
                MetadataDirective="REPLACE",
                Metadata={**found["Metadata"], _COPY_OF: mark},
                ContentType=found.get("ContentType", ""),
            )
    client.delete_object(Bucket=bucket, Key=key)
    return True


def _head(client: S3Client, bucket: str, key: str) -> HeadObjectOutputTypeDef | None:
    """Return the metadata of an object; None if the object does not exist."""
    try:
        return client.head_object(Bucket=bucket, Key=key)
    except exceptions.ClientError as error:
        if answer(error).status != _MISSING:
            raise
        return None


def objects_below(client: S3Client, bucket: str, prefix: str) -> list[FileInfo]:
    """Return the objects whose keys start with a prefix, in the storage's order.

    The names of the entries are the keys without the prefix; their versions are the ETags.
    """
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return [
        file_info(
            item.get("Key", "")[len(prefix) :],
            item.get("ETag", ""),
            item.get("Size"),
            item.get("LastModified"),
        )
        for page in pages
        for item in page.get("Contents", ())
    ]


def delete_keys(client: S3Client, bucket: str, keys: Sequence[str]) -> None:
    """Delete keys with one request; missing keys are no error.

    Raises:
        ClientError: The storage rejected a key in an accepted request.
    """
    done = client.delete_objects(
        Bucket=bucket, Delete={"Objects": [{"Key": key} for key in keys], "Quiet": True}
    )
    for error in done.get("Errors", ()):
        code = error.get("Code", "")
        if code != "NoSuchKey":
            text = f"{error.get('Key', '')}: {error.get('Message', '')}"
            raise exceptions.ClientError(
                {"Error": {"Code": code, "Message": text}}, "DeleteObjects"
            )
