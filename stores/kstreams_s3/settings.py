"""The settings of durable state in S3."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from kstreams.state import object_name_parts
from kstreams_s3.store import S3ObjectStore

__all__ = ("S3",)

_MIB = 1024 * 1024
_LEAST_PART_BYTES = 5 * _MIB


@dataclass(frozen=True)
class S3:
    """Settings: durable objects below a prefix of a bucket, on S3 or compatible storage.

    boto3 finds credentials (environment, profile, role of the machine, ...) unless both keys are
    given here; given ones are sent to the workers inside the app, so a role is better. Texts of the
    library do not contain them.

    Several apps may share a prefix: the names of their objects differ.

    Args:
        url: `s3://bucket/prefix`; the bucket must exist.
        endpoint_url: The URL of the storage, `https://host:port`; None is AWS.
        region: The region of the bucket; None leaves it to boto3.
        profile: The profile in boto3's configuration.
        access_key: The public part of credentials.
        secret_key: The secret part of credentials.
        session_token: The third part of temporary credentials.
        addressing: The place of the bucket in requests: `virtual` in the host, `path` in the path;
            `auto` is `path` for a custom endpoint.
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

    url: str
    _: KW_ONLY
    endpoint_url: str | None = None
    region: str | None = None
    profile: str | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    addressing: Literal["auto", "path", "virtual"] = "auto"
    connect_timeout: timedelta = timedelta(seconds=5)
    read_timeout: timedelta = timedelta(seconds=20)
    give_up_after: timedelta = timedelta(minutes=2)
    multipart_bytes: int = 64 * _MIB
    part_bytes: int = 16 * _MIB

    def __post_init__(self) -> None:
        """Refuse what could only fail later."""
        _check_url(self.url)
        _check_endpoint(self.endpoint_url)
        if (self.access_key is None) != (self.secret_key is None):
            raise ValueError("S3(...): access_key and secret_key go together")
        if self.session_token is not None and self.access_key is None:
            raise ValueError("S3(...): a session_token goes with an access_key and a secret_key")
        for name in ("connect_timeout", "read_timeout", "give_up_after"):
            if getattr(self, name) <= timedelta(0):
                raise ValueError(f"S3({name}={getattr(self, name)}): must be positive")
        for name in ("multipart_bytes", "part_bytes"):
            if getattr(self, name) < _LEAST_PART_BYTES:
                raise ValueError(f"S3({name}={getattr(self, name)}): at least {_LEAST_PART_BYTES}")

    @property
    def bucket(self) -> str:
        """The bucket's name."""
        return urlsplit(self.url).netloc

    @property
    def prefix(self) -> str:
        """The prefix of all keys, with a slash at its end; empty for the whole bucket."""
        path = urlsplit(self.url).path.strip("/")
        return f"{path}/" if path else ""

    @property
    def place(self) -> str:
        """The name of the storage in texts: the URL, and the endpoint if it is not AWS."""
        at = f" at {self.endpoint_url}" if self.endpoint_url else ""
        return f"s3://{self.bucket}/{self.prefix}{at}"

    def open(self) -> S3ObjectStore:
        """Return the object store; nothing is asked of the storage before it is used."""
        return S3ObjectStore(self)


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if _has_login(parts, url) or ":" in parts.netloc:
        raise ValueError("S3(...): the URL must not hold credentials: use access_key, secret_key")
    if parts.scheme != "s3" or not parts.netloc or parts.query or parts.fragment:
        raise ValueError(f"S3({_without_query(url)!r}): expected s3://bucket/prefix")
    if path := parts.path.strip("/"):
        object_name_parts(path)


def _check_endpoint(url: str | None) -> None:
    if url is None:
        return
    parts = urlsplit(url)
    if _has_login(parts, url):
        raise ValueError("S3(endpoint_url=...) must not hold credentials: use access_key")
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise ValueError(
            f"S3(endpoint_url={_without_query(url)!r}): expected https://host or http://host:port"
        )


def _has_login(parts: SplitResult, url: str) -> bool:
    """Return whether a URL contains a name and a password, also if it is parsed wrongly.

    A secret key may contain slashes, which end the host part.
    """
    try:
        _ = parts.port
    except ValueError:
        return True
    return "@" in parts.netloc or ("@" in url and not parts.netloc)


def _without_query(url: str) -> str:
    """Return a URL as an error may show it: a query may hold a token."""
    return re.sub(r"[?#].*", "?…", url, flags=re.DOTALL)
