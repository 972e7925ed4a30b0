"""Listing the keys of a bucket, copying one, and deleting many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kstreams_s3.failures import answer
from kstreams_s3.sdk import exceptions

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

__all__ = ("DELETED_AT_ONCE", "copy_key", "delete_keys", "keys_below")

_MISSING = 404

DELETED_AT_ONCE = 1000
"""How many keys one request may delete: S3's limit."""


def keys_below(client: S3Client, bucket: str, prefix: str) -> list[str]:
    """Return the keys that start with a prefix, sorted.

    The order of the storage is not trusted: some sort folder by folder.
    """
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return sorted(
        key for page in pages for item in page.get("Contents", ()) if (key := item.get("Key"))
    )


def copy_key(client: S3Client, bucket: str, key: str, to: str) -> None:
    """Copy an object of up to 5 GB within the storage, unless the other key has one."""
    try:
        client.head_object(Bucket=bucket, Key=to)
    except exceptions.ClientError as error:
        if answer(error).status != _MISSING:
            raise
    else:
        return
    client.copy_object(Bucket=bucket, Key=to, CopySource={"Bucket": bucket, "Key": key})


def delete_keys(client: S3Client, bucket: str, keys: Sequence[str]) -> None:
    """Delete keys by one request; those that do not exist are no error.

    Raises:
        ClientError: The storage refused one of them, though it accepted the request.
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
