"""A WebSocket as an intake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta

from typing_extensions import override
from websockets.exceptions import (
    ConnectionClosed,
    ConnectionClosedError,
    InvalidHandshake,
    InvalidStatus,
    WebSocketException,
)
from websockets.sync.client import connect

from kstreams.errors import IntakeError, IntakeUnavailableError
from kstreams.intakes import Intake, LastMessage, Receiver
from kstreams_events.address import checked, shown
from kstreams_events.line import Line, Message
from kstreams_events.receiver import StreamReceiver

__all__ = ("WebSocket",)

_CONNECT_S = 10.0
_CLOSE_S = 2.0
_LASTING = range(400, 500)
_PASSING = (408, 425, 429)
_FAULTS = (1002, 1007, 1009)
"""The close codes for a broken frame, invalid UTF-8, and a message that is too large."""


@dataclass(frozen=True)
class WebSocket(Intake):
    """Receives messages from a WebSocket while it is connected.

    The value of a text message is its text in UTF-8. Messages have no ids; a
    function given as `IntakeRunner(complete=...)` may derive an id from the value. Messages that
    are sent while no process is connected are lost; each disconnection is counted as a gap, with
    its length.

    Args:
        url: The URL, `ws://` or `wss://`. Logs and errors do not show its query.
        headers: Request headers, such as `Authorization`; logs and errors do not show them.
        greetings: Messages to send after connecting, such as subscriptions.
        prefetch: The maximum number of messages in memory.
        max_bytes: The maximum size of a message.
        ping: The interval between pings to the server.
        pause: The time to wait before reconnecting after the server has closed a connection.
        named: The name of the intake; None derives it from the URL.

    Raises:
        ValueError: The URL is invalid, or a limit is not positive.
    """

    url: str = field(repr=False)
    _: KW_ONLY
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    greetings: tuple[str | bytes, ...] = field(default=(), repr=False)
    prefetch: int = 500
    max_bytes: int = 1024 * 1024
    ping: timedelta = timedelta(seconds=20)
    pause: timedelta = timedelta(seconds=1)
    named: str | None = None

    def __post_init__(self) -> None:
        checked(self.url, ("ws", "wss"))
        if min(self.prefetch, self.max_bytes) < 1 or self.ping <= timedelta(0):
            raise ValueError(
                f"prefetch={self.prefetch}, max_bytes={self.max_bytes} and ping={self.ping} must "
                "be positive"
            )

    def __repr__(self) -> str:
        """Return a text with the URL, without its query."""
        return f"WebSocket(url={shown(self.url)!r})"

    @property
    @override
    def name(self) -> str:
        return self.named or f"websocket {shown(self.url)}"

    def open(self, last: LastMessage | None) -> Receiver:
        """Connect, and count a gap if the topic already has messages of this intake.

        Raises:
            IntakeUnavailableError: The server does not answer.
            IntakeError: The server rejects this client.
        """
        return StreamReceiver(
            self.name,
            lambda _: _SocketLine(self),
            resumes=False,
            prefetch=self.prefetch,
            pause=self.pause,
            last=last,
        )


class _SocketLine(Line):
    """An open WebSocket connection."""

    def __init__(self, settings: WebSocket) -> None:
        self._where = shown(settings.url)
        self._entered = ExitStack()
        seconds = settings.ping.total_seconds()
        try:
            opening = connect(
                settings.url,
                additional_headers=dict(settings.headers),
                open_timeout=_CONNECT_S,
                close_timeout=_CLOSE_S,
                ping_interval=seconds,
                ping_timeout=seconds,
                max_size=settings.max_bytes,
                max_queue=16,
                compression=None,  # so a size limit holds for the decoded message
            )
            self._socket = self._entered.enter_context(opening)
        except InvalidStatus as exc:
            status = exc.response.status_code
            lasts = status in _LASTING and status not in _PASSING
            error = IntakeError if lasts else IntakeUnavailableError
            raise error(
                f"{self._where} answered with status {status}; expected a WebSocket"
            ) from None
        except (InvalidHandshake, OSError, EOFError) as exc:
            raise self._lost(exc) from None
        try:
            for greeting in settings.greetings:
                self._socket.send(greeting)
        except (WebSocketException, OSError) as exc:
            self.close()
            raise self._lost(exc) from None

    def messages(self) -> Iterator[Message]:
        try:
            for text in self._socket:
                yield Message(text.encode() if isinstance(text, str) else text)
        except ConnectionClosedError as exc:
            ours = exc.sent is not None and not exc.rcvd_then_sent  # we have ended it
            if ours and exc.sent is not None and exc.sent.code in _FAULTS:
                raise IntakeError(
                    f"{self._where} sent a message that is too large, is not UTF-8 or is not a "
                    f"valid WebSocket frame: {exc.sent}",
                    hint="increase max_bytes= if messages may be larger.",
                ) from None
            raise self._lost(exc) from None
        except ConnectionClosed:
            return

    def close(self) -> None:
        with suppress(WebSocketException, OSError):
            self._entered.close()

    def _lost(self, exc: Exception) -> IntakeUnavailableError:
        return IntakeUnavailableError(
            f"{self._where} does not answer, or the connection was lost: {type(exc).__name__}"
        )
