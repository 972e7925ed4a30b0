"""Creating an object unless its name is taken, and recognizing it later."""

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
"""Metadata of an object: SHA-256 of its contents, hex."""

_PUT = "kstreams-put"
_TAKEN = 412


@dataclass(frozen=True)
class Creation:
    """One wish to create an object, however often it is tried.

    A try whose reply was lost may have succeeded; the next one then finds the name taken.
    So each creation has a token of its own, kept with the object as metadata: who finds
    the token has created the object.
    """

    client: S3Client
    bucket: str
    key: str
    data: bytes = field(repr=False)
    token: str = field(default_factory=lambda: uuid4().hex)

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the object."""
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
        """Return whether the object belongs to this creation; None if there is none."""
        try:
            found = self.client.head_object(Bucket=self.bucket, Key=self.key)
        except exceptions.ClientError as error:
            if answer(error).status == 404:
                return None
            raise
        return found["Metadata"].get(_PUT) == self.token


def content_md5(data: bytes) -> str:
    """Return the header by which every storage checks what arrives."""
    return base64.b64encode(md5(data, usedforsecurity=False).digest()).decode()
