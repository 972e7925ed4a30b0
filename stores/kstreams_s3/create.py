"""Creates an object unless its name exists, and recognizes the object later."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from hashlib import md5, sha256
from typing import TYPE_CHECKING
from uuid import uuid4

from kstreams_s3.failures import answer
from kstreams_s3.sdk import exceptions

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

__all__ = ("DIGEST", "Creation", "content_md5")

DIGEST = "kstreams-sha256"
"""The name of an object's metadata field with the SHA-256 of its contents, in hex."""

_PUT = "kstreams-put"
_TAKEN = 412


@dataclass(frozen=True)
class Creation:
    """The creation of one object, with any number of tries.

    A try whose reply was lost may have succeeded; the next try then finds an existing object. So
    each creation has its own token, which is stored in the object's metadata: an object with the
    token was created by this creation.
    """

    client: S3Client
    bucket: str
    key: str
    data: bytes = field(repr=False)
    token: str = field(default_factory=lambda: uuid4().hex)

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the object, with the token of this creation."""
        return {_PUT: self.token, DIGEST: sha256(self.data).hexdigest()}

    def put(self) -> bool:
        """Create the object with one request; return whether this creation owns the name."""
        try:
            self.client.put_object(
                Bucket=self.bucket,
                Key=self.key,
                Body=self.data,
                ContentMD5=content_md5(self.data),
                IfNoneMatch="*",
                Metadata=self.metadata,
            )
        except exceptions.ClientError as error:
            if answer(error).status != _TAKEN:
                raise
            return bool(self.owner())
        return True

    def owner(self) -> bool | None:
        """Return whether this creation has created the object; None if the object is missing."""
        try:
            found = self.client.head_object(Bucket=self.bucket, Key=self.key)
        except exceptions.ClientError as error:
            if answer(error).status == 404:
                return None
            raise
        return found["Metadata"].get(_PUT) == self.token


def content_md5(data: bytes) -> str:
    """Return the header Content-MD5, with which every storage checks the received data."""
    return base64.b64encode(md5(data, usedforsecurity=False).digest()).decode()
