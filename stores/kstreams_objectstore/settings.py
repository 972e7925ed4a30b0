"""The base of the settings of a bucket."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import SplitResult, urlsplit

from kstreams.state import object_name_parts

if TYPE_CHECKING:
    from kstreams_objectstore.store import BucketStore

__all__ = ("BucketSettings",)

_MIB = 1024 * 1024


@dataclass(frozen=True)
class BucketSettings(ABC):
    """Settings of durable objects below a prefix of a bucket; each storage derives a class.

    Args:
        url: `scheme://bucket/prefix`; the bucket must exist.
        endpoint_url: The URL of the storage; None is the provider's.
        connect_timeout: The maximum wait for a connection.
        read_timeout: The maximum wait for the next byte of a reply.
        give_up_after: The maximum time of retries of a request.
        part_bytes: The bytes that one request reads of a large object.

    Raises:
        ValueError: The URL, a time or a size is invalid; the message contains no credentials.
    """

    url: str
    _: KW_ONLY
    endpoint_url: str | None = None
    connect_timeout: timedelta = timedelta(seconds=5)
    read_timeout: timedelta = timedelta(seconds=30)
    give_up_after: timedelta = timedelta(minutes=2)
    part_bytes: int = 16 * _MIB

    scheme: ClassVar[str]
    """The scheme of `url`."""
    credentials: ClassVar[str]
    """The arguments that take credentials, for errors."""
    least_part_bytes: ClassVar[int] = _MIB
    """The minimum of `part_bytes`."""

    def __post_init__(self) -> None:
        """Check the settings, so that errors are raised here and not at the first request."""
        self._check_url()
        self._check_endpoint()
        for name in ("connect_timeout", "read_timeout", "give_up_after"):
            if getattr(self, name) <= timedelta(0):
                raise ValueError(f"{self._title}({name}={getattr(self, name)}): must be positive")
        self._check_size("part_bytes")

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
        """The name of the storage in logs and errors: the URL, and the endpoint if it is given."""
        at = f" at {self.endpoint_url}" if self.endpoint_url else ""
        return f"{self.scheme}://{self.bucket}/{self.prefix}{at}"

    @abstractmethod
    def open(self) -> BucketStore[Any, Any]:
        """Return the object store; the first request is sent when it is used."""

    @property
    def _title(self) -> str:
        return type(self).__name__

    def _check_size(self, name: str) -> None:
        """Raise `ValueError` if the size option `name` is below the minimum size of a part."""
        if getattr(self, name) < self.least_part_bytes:
            raise ValueError(
                f"{self._title}({name}={getattr(self, name)}): must be at least "
                f"{self.least_part_bytes}"
            )

    def _check_url(self) -> None:
        parts = urlsplit(self.url)
        if _has_login(parts, self.url) or ":" in parts.netloc:
            raise ValueError(
                f"{self._title}(...): the URL must not contain credentials: use {self.credentials}"
            )
        if parts.scheme != self.scheme or not parts.netloc or parts.query or parts.fragment:
            raise ValueError(
                f"{self._title}({_without_query(self.url)!r}): expected "
                f"{self.scheme}://bucket/prefix"
            )
        if path := parts.path.strip("/"):
            object_name_parts(path)

    def _check_endpoint(self) -> None:
        if (url := self.endpoint_url) is None:
            return
        parts = urlsplit(url)
        if _has_login(parts, url):
            raise ValueError(
                f"{self._title}(endpoint_url=...) must not contain credentials: use "
                f"{self.credentials}"
            )
        if (
            parts.scheme not in ("http", "https")
            or not parts.netloc
            or parts.query
            or parts.fragment
        ):
            raise ValueError(
                f"{self._title}(endpoint_url={_without_query(url)!r}): expected https://host or "
                "http://host:port"
            )


def _has_login(parts: SplitResult, url: str) -> bool:
    """Return whether a URL contains a name and a password, even if the parser misread the URL.

    A secret key may contain slashes, which end the host part.
    """
    try:
        _ = parts.port
    except ValueError:
        return True
    return "@" in parts.netloc or ("@" in url and not parts.netloc)


def _without_query(url: str) -> str:
    """Return a URL without its query for error texts: the query may contain a token."""
    return re.sub(r"[?#].*", "?…", url, flags=re.DOTALL)
