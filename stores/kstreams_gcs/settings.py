"""The settings of a bucket of Google Cloud Storage."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

from typing_extensions import override

from kstreams_gcs.store import GcsObjectStore
from kstreams_objectstore import BucketSettings

__all__ = ("GCS",)


@dataclass(frozen=True)
class GCS(BucketSettings):
    """Settings: durable objects below a prefix of a bucket of Google Cloud Storage.

    Credentials are Google's application default credentials (environment, workload identity, role
    of the machine) unless a file is given. Several apps may share a prefix: the names of their
    objects differ.

    Args:
        url: `gs://bucket/prefix`; the bucket must exist.
        credentials_file: The key of a service account, as JSON; the file must exist on the driver
            and on each worker. Logs and errors do not show its path.
        anonymous: Whether to send no credentials, for public buckets and emulators.
        endpoint_url: The URL of the storage, if it is not Google's.
        connect_timeout: The maximum wait for a connection.
        read_timeout: The maximum wait for the next byte of a reply.
        give_up_after: The maximum time of retries of a request.
        part_bytes: The bytes that one request reads of a large object of a source.

    Raises:
        ValueError: The URL, a time or a size is invalid.

    Example:
        RocksDB(log=GCS("gs://bucket/word-count"))
    """

    _: KW_ONLY
    credentials_file: str | None = field(default=None, repr=False)
    anonymous: bool = False

    scheme: ClassVar[str] = "gs"
    credentials: ClassVar[str] = "credentials_file="

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.anonymous and self.credentials_file is not None:
            raise ValueError("GCS(anonymous=True) sends no credentials: remove credentials_file=")

    @override
    def open(self) -> GcsObjectStore:
        return GcsObjectStore(self)
