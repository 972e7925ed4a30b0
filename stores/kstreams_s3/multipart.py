"""Multipart uploads of large objects, and the removal of abandoned uploads."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from kstreams_s3.client import secrets_of
from kstreams_s3.create import Creation, content_md5
from kstreams_s3.failures import answer, without_secrets
from kstreams_s3.retry import Unsettled
from kstreams_s3.sdk import exceptions

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client
    from types_boto3_s3.type_defs import CompletedPartTypeDef

__all__ = ("STALE_AFTER", "abort_stale_uploads", "put_in_parts")

STALE_AFTER = timedelta(days=1)
"""The age from which an unfinished upload counts as abandoned."""

_PARALLEL_PARTS = 4
_LOG = logging.getLogger(__name__.replace("_", ".", 1))


def put_in_parts(creation: Creation, part_bytes: int) -> bool:
    """Create an object part by part, atomically, unless the name exists.

    Returns:
        Whether this creation has created the object.

    Raises:
        Unsettled: The storage lost the upload, or another upload conflicted with it; try again.
    """
    owner = creation.owner()  # before gigabytes are sent in vain
    if owner is not None:
        return owner
    begun = creation.client.create_multipart_upload(
        Bucket=creation.bucket, Key=creation.key, Metadata=creation.metadata
    )
    upload = begun["UploadId"]
    try:
        parts = _send(creation, upload, part_bytes)
        won = _complete(creation, upload, parts)
    except BaseException:
        _abort(creation.client, creation.bucket, creation.key, upload)
        raise
    if not won:
        _abort(creation.client, creation.bucket, creation.key, upload)
    return won


def abort_stale_uploads(
    client: S3Client, bucket: str, prefix: str, older_than: timedelta = STALE_AFTER
) -> int:
    """Abort uploads that killed processes have left below a prefix; return how many.

    The age of uploads is measured by the storage's clock. A lifecycle rule of the bucket can
    replace this call. It is no error if the storage or a policy does not allow to list uploads.
    """
    aborted = 0
    try:
        for page in client.get_paginator("list_multipart_uploads").paginate(
            Bucket=bucket, Prefix=prefix
        ):
            now = parsedate_to_datetime(page["ResponseMetadata"]["HTTPHeaders"]["date"])
            for upload in page.get("Uploads", ()):
                key, number = upload.get("Key"), upload.get("UploadId")
                begun = upload.get("Initiated", now)
                if key and number and now - begun >= older_than:
                    _abort(client, bucket, key, number)
                    aborted += 1
    except (exceptions.ClientError, KeyError) as error:
        _LOG.warning(
            "cannot look for stale uploads in %s/%s: %s", bucket, prefix, _safe(client, error)
        )
    return aborted


def _send(creation: Creation, upload: str, part_bytes: int) -> list[CompletedPartTypeDef]:
    def send(number: int) -> CompletedPartTypeDef:
        data = creation.data[(number - 1) * part_bytes : number * part_bytes]
        sent = creation.client.upload_part(
            Bucket=creation.bucket,
            Key=creation.key,
            UploadId=upload,
            PartNumber=number,
            Body=data,
            ContentMD5=content_md5(data),
        )
        return {"PartNumber": number, "ETag": sent["ETag"]}

    count = -(-len(creation.data) // part_bytes)
    with ThreadPoolExecutor(_PARALLEL_PARTS, "kstreams-upload") as pool:
        return list(pool.map(send, range(1, count + 1)))


def _complete(creation: Creation, upload: str, parts: list[CompletedPartTypeDef]) -> bool:
    try:
        creation.client.complete_multipart_upload(
            Bucket=creation.bucket,
            Key=creation.key,
            UploadId=upload,
            MultipartUpload={"Parts": parts},
            IfNoneMatch="*",
        )
    except exceptions.ClientError as error:
        code, status, _ = answer(error)
        if status == 412:
            return bool(creation.owner())
        if code in ("NoSuchUpload", "ConditionalRequestConflict"):
            if creation.owner():  # an earlier try went through, its reply was lost
                return True
            raise Unsettled(
                f"multipart upload {upload} of object {creation.key} is lost or has a conflict: "
                f"{code}"
            ) from error
        raise
    return True


def _abort(client: S3Client, bucket: str, key: str, upload: str) -> None:
    try:
        client.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload)
    except (exceptions.ClientError, exceptions.BotoCoreError) as error:
        if answer(error).code != "NoSuchUpload":
            _LOG.warning(
                "the upload of %s/%s is not aborted: %s",
                bucket,
                key,
                _safe(client, error),
            )


def _safe(client: S3Client, error: Exception) -> str:
    return without_secrets(error, secrets_of(client))
