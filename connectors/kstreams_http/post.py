"""POSTs as a sink: what a user says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Generic, TypeAlias, TypeVar

from kstreams import Record
from kstreams.sinks import CommitId, Guarantee, Writer
from kstreams_http.writer import PostWriter
from kstreams_rows.http import HttpServer, shown_url

__all__ = ("Body", "HttpPost")

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

Body: TypeAlias = bytes | str | Mapping[str, object] | Sequence[object]
"""Of a request: bytes, text, or what is made JSON."""

_JSON = "application/json"


@dataclass(frozen=True, repr=False)
class HttpPost(Generic[K, V]):
    """Posts each result to an HTTP server, in order, at least once.

    Each request has a header `Idempotency-Key`, `<life>/<sink>/<task>/<batch>/<number>`, which is
    the same whenever it comes again: a server that remembers it sees each result once.

    A status 2xx is success. 408, 409, 425, 429 and 5xx are tried again, and so is a lost
    connection. 401, 403, 404, 405, 407 and 410 mean that the address or the rights are wrong, and
    fail the batch, as redirects do. Any other 4xx refuses the result alone; those that were
    posted before it stay there, also under `on_refused="fail"`. Requests go straight to the
    server, past proxies.

    Args:
        url: Where to; a name and a password in it become a header. Shown without login and query.
        body: Makes the body from key and value; None leaves the result out.
        content_type: Header of each request.
        headers: More of them; they show in no text.
        timeout: How long to wait for a connection, and for each part of an answer.
        give_up_after: How long to try a request again.

    Raises:
        ValueError: The url or a header is none.
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
        """Return a sink that posts all that a task gives in a batch by one request.

        Where the server refuses it, halves are posted, down to the results that it refuses; the
        `Idempotency-Key` of a part ends with its first and last number.

        Args:
            url: As for `HttpPost`, and so are the others.
            body: Makes the body of some records; the same for the same ones.
            content_type: Header of each request.
            headers: More of them.
            timeout: How long to wait for an answer.
            give_up_after: How long to try a request again.
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
        """Show where to, without a secret."""
        return f"HttpPost({shown_url(self.url)!r})"

    @property
    def label(self) -> str:
        """What pictures of the topology show."""
        return f"POST {shown_url(self.url)}"

    @property
    def guarantee(self) -> Guarantee:
        """At least once."""
        return "at-least-once"

    def prepare(self) -> None:
        """Do nothing: there is no request that changes nothing."""

    def open(self) -> Writer[K, V]:
        """Open a writer, which has a connection of its own."""
        return PostWriter(self._server(), self.give_up_after, self.body, self._bodies)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing: results are posted when they are written."""

    def _server(self) -> HttpServer:
        headers = {"Content-Type": self.content_type, **self.headers}
        return HttpServer(self.url, headers, self.timeout)


def _no_body(key: object, value: object) -> Body | None:
    """Make nothing: bodies are made of batches."""
