"""Server-sent events as an intake."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta

import httpx
from typing_extensions import override

from kstreams.errors import IntakeError, IntakeUnavailableError
from kstreams.intakes import Intake, LastMessage, Receiver
from kstreams_events.address import checked, shown
from kstreams_events.line import Line, Message
from kstreams_events.parsing import events_of
from kstreams_events.receiver import StreamReceiver

__all__ = ("EventStream",)

_CONNECT_S = 10.0
_LASTING = range(400, 500)
_PASSING = (408, 425, 429)
_LAST_ID = "Last-Event-ID"


@dataclass(frozen=True)
class EventStream(Intake):
    """Receives server-sent events from one URL and resumes after the last event in the topic.

    An event's `id` is the message's id, its data is the value, and its type is the header
    `sse-event`. After a disconnection or a restart, the intake asks the server for the events after
    the last id. Without ids, a disconnection is counted as a gap. With ids, the server must have
    kept the events; the intake cannot detect that it has not.

    Args:
        url: The URL, without a password. Logs and errors do not show its query.
        headers: Request headers, such as `Authorization`; logs and errors do not show them.
        prefetch: The maximum number of events in memory.
        max_bytes: The maximum size of an event, and of a line.
        silence: The maximum time without data, comments included, before a reconnection.
        pause: The time to wait before reconnecting after the server has closed a connection.
        named: The name of the intake; None derives it from the URL.

    Raises:
        ValueError: The URL is invalid, or a limit is not positive.

    Source: the `EventSource` interface of browsers.
    """

    url: str = field(repr=False)
    _: KW_ONLY
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    prefetch: int = 500
    max_bytes: int = 1024 * 1024
    silence: timedelta = timedelta(seconds=90)
    pause: timedelta = timedelta(seconds=1)
    named: str | None = None

    def __post_init__(self) -> None:
        checked(self.url, ("http", "https"))
        if min(self.prefetch, self.max_bytes) < 1 or self.silence <= timedelta(0):
            raise ValueError(
                f"prefetch={self.prefetch}, max_bytes={self.max_bytes} and silence={self.silence} "
                "must be positive"
            )

    def __repr__(self) -> str:
        """Return a text with the URL, without its query."""
        return f"EventStream(url={shown(self.url)!r})"

    @property
    @override
    def name(self) -> str:
        return self.named or f"events {shown(self.url)}"

    def open(self, last: LastMessage | None) -> Receiver:
        """Connect and resume after the last message in the topic.

        Raises:
            IntakeUnavailableError: The server does not answer.
            IntakeError: The server has no such stream, or rejects the client.
        """
        return StreamReceiver(
            self.name,
            lambda identity: _EventLine(self, identity),
            resumes=True,
            prefetch=self.prefetch,
            pause=self.pause,
            last=last,
        )


class _EventLine(Line):
    """An open response of an event stream."""

    def __init__(self, stream: EventStream, identity: str | None) -> None:
        self._stream = stream
        self._closed = False
        given = {
            **stream.headers,
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",  # so a size limit holds for the decoded body
            "Cache-Control": "no-store",
        }
        if identity is not None:
            given[_LAST_ID] = identity
        timeout = httpx.Timeout(_CONNECT_S, read=stream.silence.total_seconds())
        self._client = httpx.Client(timeout=timeout, follow_redirects=True, max_redirects=5)
        try:
            headers = [(name.encode("ascii"), text.encode()) for name, text in given.items()]
            request = self._client.build_request("GET", stream.url, headers=headers)
            self._response = self._client.send(request, stream=True)
            self._check()
        except httpx.HTTPError as exc:
            self._client.close()
            raise self._lost(exc) from None
        except BaseException:
            self._client.close()
            raise

    def messages(self) -> Iterator[Message]:
        try:
            yield from events_of(self._response.iter_raw(), self._stream.max_bytes)
        except (httpx.HTTPError, httpx.StreamError) as exc:
            if not self._closed:
                raise self._lost(exc) from None
        finally:
            with suppress(httpx.HTTPError):
                self._response.close()
            self._client.close()

    def close(self) -> None:
        self._closed = True
        stream = self._response.extensions.get("network_stream")
        found = None if stream is None else stream.get_extra_info("socket")
        if isinstance(found, socket.socket):
            with suppress(OSError):
                found.shutdown(socket.SHUT_RDWR)  # ends a read that waits

    def _check(self) -> None:
        response, where = self._response, shown(self._stream.url)
        status = response.status_code
        if status == httpx.codes.OK:
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            coding = response.headers.get("content-encoding", "identity")
            if kind != "text/event-stream" or coding != "identity":
                raise IntakeError(
                    f"{where} answered with content type {kind[:80]!r} and encoding "
                    f"{coding[:80]!r}; expected text/event-stream without compression"
                )
            return
        lasts = status == httpx.codes.NO_CONTENT or (status in _LASTING and status not in _PASSING)
        error = IntakeError if lasts else IntakeUnavailableError
        raise error(f"{where} answered with status {status}; expected 200 and an event stream")

    def _lost(self, exc: Exception) -> IntakeUnavailableError:
        return IntakeUnavailableError(
            f"{shown(self._stream.url)} does not answer: {type(exc).__name__}",
            hint="the intake reconnects and asks for the missed events; none is lost if the server "
            "keeps events and gives them ids.",
        )
