"""The HTTP POST sink and its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import TypeAlias, TypeVar

from typing_extensions import override

from kstreams import Record
from kstreams.sinks import CommitId, Guarantee, Sink, Writer
from kstreams_http.writer import PostWriter
from kstreams_rows.http import HttpServer, shown_url

__all__ = ("Body", "HttpPost")

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

Body: TypeAlias = bytes | str | Mapping[str, object] | Sequence[object]
"""The body of a request: bytes, text, or a value to encode as JSON."""

_JSON = "application/json"


@dataclass(frozen=True, repr=False)
class HttpPost(Sink[K, V]):
    """Posts each result to an HTTP server, in order, at least once.

    Each request has the header `Idempotency-Key: <epoch>/<sink>/<task>/<batch>/<number>`. A
    repeated request has the same key, so a server that stores the keys can process each result
    once.

    A 2xx status is success. 408, 409, 425, 429, 5xx and lost connections are retried. Redirects and
    401, 403, 404, 405, 407 and 410 mean a wrong address or missing rights, and fail the batch. Any
    other 4xx status rejects the single result; results posted before it stay posted, even with
    `on_refused="fail"`. Requests do not use proxies.

    Args:
        url: The URL; a user name and a password in it become a header. Logs and errors show it
            without login and query.
        body: Builds the body from key and value; None skips the result.
        content_type: The `Content-Type` header of each request.
        headers: Additional headers; logs and errors do not show them.
        timeout: The maximum time to wait for a connection, and for each part of a response.
        give_up_after: The maximum time to retry a request.

    Raises:
        ValueError: The URL or a header is invalid.
    """

    url: str = field(repr=False)
    _: KW_ONLY
    body: Callable[[K, V], Body | None]
    content_type: str = _JSON
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: timedelta = timedelta(seconds=30)
    give_up_after: timedelta = timedelta(seconds=60)
    _bodies: Callable[[Sequence[Record[K, V]]], Body] | None = None

    def __post_init__(self) -> None:
        self._server()

    @classmethod
    def of_batches(
        cls,
        url: str,
        *,
        body: Callable[[Sequence[Record[K, V]]], Body],
        content_type: str = _JSON,
        headers: Mapping[str, str] | None = None,
        timeout: timedelta = timedelta(seconds=30),
        give_up_after: timedelta = timedelta(seconds=60),
    ) -> HttpPost[K, V]:
        """Return a sink that posts all results of a task's batch in one request.

        If the server rejects the request, the sink splits the batch in halves until it finds the
        rejected results. The `Idempotency-Key` of a part ends with its first and last number.

        Args:
            url: The URL; see `HttpPost`.
            body: Builds the body of several records; it must be deterministic.
            content_type: The `Content-Type` header of each request.
            headers: Additional headers.
            timeout: The maximum time to wait for a response.
            give_up_after: The maximum time to retry a request.
        """
        return cls(
            url,
            body=_no_body,
            content_type=content_type,
            headers=headers or {},
            timeout=timeout,
            give_up_after=give_up_after,
            _bodies=body,
        )

    def __repr__(self) -> str:
        """Return a text with the URL, without secrets."""
        return f"HttpPost({shown_url(self.url)!r})"

    @property
    @override
    def label(self) -> str:
        return f"POST {shown_url(self.url)}"

    @property
    @override
    def guarantee(self) -> Guarantee:
        return "at-least-once"

    def prepare(self) -> None:
        """Do nothing, because any request could change data of the server."""

    @override
    def open(self) -> Writer[K, V]:
        return PostWriter(self._server(), self.give_up_after, self.body, self._bodies)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing, because results are posted when they are written."""

    def _server(self) -> HttpServer:
        headers = {"Content-Type": self.content_type, **self.headers}
        return HttpServer(self.url, headers, self.timeout)


def _no_body(key: object, value: object) -> Body | None:
    """Return no body, because bodies are built from batches."""
