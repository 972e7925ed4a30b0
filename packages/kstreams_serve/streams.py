"""Server-sent events for followers, one per version; slow clients get only the newest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.types import Receive, Scope, Send

from kstreams.errors import KStreamsError
from kstreams_serve.problem_responses import answer_of
from kstreams_serve.problems import Problem
from kstreams_serve.roles import Role
from kstreams_serve.settings import Limits

__all__ = ("Event", "EventStream", "Streams")

_PULSE_SECONDS = 15.0


class Streams:
    """Counts the followers, and enforces their limit.

    Args:
        most: The maximum number of followers.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0

    def enter(self) -> None:
        """Count a new follower.

        Raises:
            Problem: There are too many followers.
        """
        if self._count >= self._most:
            raise Problem(
                503,
                f"the server already sends changes to {self._most} clients, its limit for streams",
                headers={"Retry-After": "5"},
            )
        self._count += 1

    def leave(self) -> None:
        """Stop counting a follower that has disconnected."""
        self._count -= 1


@dataclass(frozen=True)
class Event:
    """An event for a follower.

    Attributes:
        id: The id, on one line; the follower sends it when it reconnects.
        data: JSON text.
    """

    id: str
    data: str


class EventStream:
    """A response that sends an event for each change: the newest state when the client can receive.

    Args:
        streams: Counts the stream.
        limits: The time limits.
        look: Returns the newest event; None if nothing has changed.
        change: Returns an `asyncio.Event` that is set when `look` may have an event.
    """

    def __init__(
        self,
        streams: Streams,
        limits: Limits,
        look: Callable[[], Awaitable[Event | None]],
        change: Callable[[], asyncio.Event],
    ) -> None:
        self._streams = streams
        self._limits = limits
        self._look = look
        self._change = change

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client disconnects, or for at most `stream_seconds`."""
        try:
            self._streams.enter()
        except Problem as problem:
            await answer_of(problem)(scope, receive, send)
            return
        gone = asyncio.ensure_future(_gone(receive))
        try:
            shows_details = scope["role"] >= Role.DATA
            await self._send_all(scope["method"], send, gone, shows_details=shows_details)
        finally:
            gone.cancel()
            self._streams.leave()

    async def _send_all(
        self, method: str, send: Send, gone: asyncio.Future[None], *, shows_details: bool
    ) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._limits.stream_seconds
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if method == "HEAD":
            until = loop.time()
        pulse = True
        while not gone.done() and loop.time() < until:
            change = asyncio.ensure_future(_set(self._change()))  # before the look: none is missed
            try:
                found = await self._look()
                text = ": still here\n\n" if pulse else ""
                if found is not None:
                    text = f"id: {found.id}\ndata: {found.data}\n\n"
                if text:
                    message = {
                        "type": "http.response.body",
                        "body": text.encode("utf-8", "replace"),
                    }
                    await send({**message, "more_body": True})
                await asyncio.wait(
                    {change, gone}, timeout=_PULSE_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                pulse = not change.done()
            except (Problem, KStreamsError) as exc:
                data = bytes(answer_of(exc, shows_details=shows_details).body)
                body = b"event: problem\ndata: " + data + b"\n\n"
                await send({"type": "http.response.body", "body": body})
                return
            finally:
                change.cancel()
        await send({"type": "http.response.body", "body": b""})


async def _set(event: asyncio.Event) -> None:
    await event.wait()


async def _gone(receive: Receive) -> None:
    """Wait until the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
