"""The settings of a bucket of Google Cloud Storage."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from urllib.parse import urlsplit

from kstreams.state import object_name_parts
from kstreams_gcs.store import GcsObjectStore

__all__ = ("GCS",)

_MIB = 1024 * 1024


@dataclass(frozen=True)
class GCS:
    """Settings: durable objects below a prefix of a bucket of Google Cloud Storage.

    Credentials are Google's application default credentials (environment, workload identity, role
    of the machine) unless a file is given. Several apps may share a prefix: the names of their
    objects differ.

    Args:
        url: `gs://bucket/prefix`; the bucket must exist.
        credentials_file: The key of a service account, as JSON; the file must exist on the driver
            and on each worker. Texts of the library do not contain its path.
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

    url: str
    _: KW_ONLY
    credentials_file: str | None = field(default=None, repr=False)
    anonymous: bool = False
    endpoint_url: str | None = None
    connect_timeout: timedelta = timedelta(seconds=5)
    read_timeout: timedelta = timedelta(seconds=30)
    give_up_after: timedelta = timedelta(minutes=2)
    part_bytes: int = 16 * _MIB

    def __post_init__(self) -> None:
        """Check the settings, so that errors are raised here and not at the first request."""
        parts = urlsplit(self.url)
        if parts.scheme != "gs" or not parts.netloc or "@" in self.url or parts.query:
            raise ValueError("GCS(...): expected gs://bucket/prefix")
        if path := parts.path.strip("/"):
            object_name_parts(path)
        if (url := self.endpoint_url) is not None:
            at = urlsplit(url)
            if at.scheme not in ("http", "https") or not at.netloc or "@" in url or at.query:
                raise ValueError("GCS(endpoint_url=...): expected https://host or http://host:port")
        if self.anonymous and self.credentials_file is not None:
            raise ValueError("GCS(anonymous=True) sends no credentials: leave the file out")
        for name in ("connect_timeout", "read_timeout", "give_up_after"):
            if getattr(self, name) <= timedelta(0):
                raise ValueError(f"GCS({name}={getattr(self, name)}): must be positive")
        if self.part_bytes < _MIB:
            raise ValueError(f"GCS(part_bytes={self.part_bytes}): at least {_MIB}")

    @property
    def bucket(self) -> str:
        """The bucket's name."""
        return urlsplit(self.url).netloc

    @property
    def prefix(self) -> str:
        """The prefix of all names, with a slash at its end; empty for the whole bucket."""
        path = urlsplit(self.url).path.strip("/")
        return f"{path}/" if path else ""

    @property
    def place(self) -> str:
        """The name of the storage in texts: the URL, and the endpoint if it is not Google's."""
        at = f" at {self.endpoint_url}" if self.endpoint_url else ""
        return f"gs://{self.bucket}/{self.prefix}{at}"

    def open(self) -> GcsObjectStore:
        """Return the object store; nothing is asked of the storage before it is used."""
        return GcsObjectStore(self)
