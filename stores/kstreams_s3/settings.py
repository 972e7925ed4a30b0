"""The settings of durable state in S3."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import ClassVar, Literal

from typing_extensions import override

from kstreams_objectstore import BucketSettings
from kstreams_s3.store import S3ObjectStore

__all__ = ("S3",)

_MIB = 1024 * 1024


@dataclass(frozen=True)
class S3(BucketSettings):
    """Settings: durable objects below a prefix of a bucket, on S3 or compatible storage.

    boto3 finds credentials (environment, profile, role of the machine, ...) unless both keys are
    given here. Given keys are sent to the workers as part of the app, so a role is better. Logs
    and errors do not show them.

    Several apps may share a prefix: the names of their objects differ.

    Args:
        url: `s3://bucket/prefix`; the bucket must exist.
        endpoint_url: The URL of the storage, `https://host:port`; None is AWS.
        region: The region of the bucket; None leaves it to boto3.
        profile: The profile in boto3's configuration.
        access_key: The public part of credentials.
        secret_key: The secret part of credentials.
        session_token: The third part of temporary credentials.
        addressing: The place of the bucket's name in requests: `virtual` in the host, `path` in
            the path; `auto` is `path` for a custom endpoint.
        connect_timeout: The maximum wait for a connection.
        read_timeout: The maximum wait for the next byte of a reply.
        give_up_after: The maximum time of retries of a request.
        multipart_bytes: Objects larger than this are uploaded in parts.
        part_bytes: The size of a part, and of the range that one request reads of a large object.

    Raises:
        ValueError: The URL or a size is invalid; the message never contains a key.

    Example:
        RocksDB(log=S3("s3://bucket/word-count", region="eu-central-1"))
    """

    _: KW_ONLY
    region: str | None = None
    profile: str | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    addressing: Literal["auto", "path", "virtual"] = "auto"
    read_timeout: timedelta = timedelta(seconds=20)
    multipart_bytes: int = 64 * _MIB

    scheme: ClassVar[str] = "s3"
    credentials: ClassVar[str] = "access_key= and secret_key="
    least_part_bytes: ClassVar[int] = 5 * _MIB

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.access_key is None) != (self.secret_key is None):
            raise ValueError("S3(...): give both access_key= and secret_key=, or neither")
        if self.session_token is not None and self.access_key is None:
            raise ValueError("S3(...): session_token= needs access_key= and secret_key=")
        self._check_size("multipart_bytes")

    @override
    def open(self) -> S3ObjectStore:
        return S3ObjectStore(self)
