"""Followers: server-sent events of each version that comes, the latest alone for the slow."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

from starlette.types import Receive, Scope, Send

from kstreams.errors import KStreamsError
from kstreams.serve.problems import Problem, answer_of
from kstreams.serve.settings import Limits

__all__ = ("EventStream", "Streams")

_PULSE_SECONDS = 15.0
_SEND_SECONDS = 30.0


class Streams:
    """Counts the followers, and lets no more in than the limit.

    Args:
        most: The limit.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0

    def enter(self) -> None:
        """Let one in.

        Raises:
            Problem: There are too many.
        """
        if self._count >= self._most:
            raise Problem(503, "there are too many followers", headers={"Retry-After": "5"})
        self._count += 1

    def leave(self) -> None:
        """Let one out."""
        self._count -= 1


class EventStream:
    """A response that sends an event for each version: what is the newest when there is room.

    Args:
        streams: Counts it.
        limits: How long it may stay.
        look: Returns the newest version and what to send of it; None where that has not changed.
        moved: Waits until there may be a newer one, for so many seconds at most.
    """

    def __init__(
        self,
        streams: Streams,
        limits: Limits,
        look: Callable[[], tuple[int | None, object] | None],
        moved: Callable[[float], Awaitable[bool]],
    ) -> None:
        self._streams = streams
        self._limits = limits
        self._look = look
        self._moved = moved

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the client leaves, does not read, or has been there for long enough."""
        try:
            self._streams.enter()
        except Problem as problem:
            await answer_of(problem)(scope, receive, send)
            return
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await self._send_all(send, gone)
        except asyncio.TimeoutError:
            return  # it does not read
        finally:
            gone.cancel()
            self._streams.leave()

    async def _send_all(self, send: Send, gone: asyncio.Future[None]) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._limits.stream_seconds
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        while not gone.done() and loop.time() < until:
            try:
                found = self._look()
            except KStreamsError as exc:
                data = json.dumps({"detail": exc.message, "type": type(exc).__name__})
                text = f"event: problem\ndata: {data}\n\n"
                await send({"type": "http.response.body", "body": text.encode()})
                return
            text = ": still here\n\n"
            if found is not None:
                version, content = found
                data = json.dumps(content, ensure_ascii=False)
                text = f"id: {'none' if version is None else version}\ndata: {data}\n\n"
            body = {"type": "http.response.body", "body": text.encode(), "more_body": True}
            await asyncio.wait_for(send(body), _SEND_SECONDS)
            waiting = asyncio.ensure_future(_until(self._moved, _PULSE_SECONDS))
            await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        await send({"type": "http.response.body", "body": b""})


async def _until(moved: Callable[[float], Awaitable[bool]], seconds: float) -> None:
    await moved(seconds)


async def _gone(receive: Receive) -> None:
    """Wait until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
