"""Unsettled messages in a bounded buffer between an event loop and the runner's thread."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable, Iterable
from itertools import count

from starlette.requests import Request

from kstreams_intake.contract import Delivery
from kstreams_serve.problems import Problem

__all__ = ("Inbox", "again")

_MOST_WAITING = 5_000
_CLOSE = {"Connection": "close"}  # the rest of a body is not read


def again(detail: str) -> Problem:
    """Return the reply 503 for a sender that should retry."""
    return Problem(503, detail, headers={"Retry-After": "5"})


class Inbox:
    """Holds messages until they are settled.

    Only `taken` and `call` may be used outside of the event loop.

    Args:
        most_bytes: The maximum bytes of all bodies, including bodies that are still being read.
        wait_seconds: The maximum wait of a sender for its reply.
    """

    def __init__(self, most_bytes: int, wait_seconds: float) -> None:
        self._most_bytes = most_bytes
        self._wait_seconds = wait_seconds
        self._bytes = 0
        self._sizes: dict[int, int] = {}
        self._answers: dict[int, asyncio.Future[Problem | None]] = {}
        self._receipts = count()
        self._queue: queue.SimpleQueue[Delivery] = queue.SimpleQueue()
        self._closed = False

    async def body(self, request: Request, most: int) -> bytearray:
        """Read a request's body; its size is reserved until `put` or `forget`.

        Raises:
            Problem: The body is too large, or the buffer is full.
        """
        data = bytearray()
        try:
            async for chunk in request.stream():
                self._check(len(data) + len(chunk), most, len(chunk))
                data += chunk
                self._bytes += len(chunk)
        except BaseException:
            self.forget(data)
            raise
        return data

    def _check(self, size: int, most: int, new: int) -> None:
        if size > most:
            raise Problem(413, f"the body is larger than {most} bytes", headers=_CLOSE)
        if self._bytes + new > self._most_bytes:
            raise Problem(
                503,
                f"the unsettled messages would exceed {self._most_bytes} bytes",
                headers={**_CLOSE, "Retry-After": "5"},
            )

    def forget(self, data: bytearray) -> None:
        """Release the size that was reserved for a body."""
        self._bytes -= len(data)
        data.clear()

    async def put(self, data: bytearray, make: Callable[[int], Delivery]) -> None:
        """Pass a message to the runner, and wait until it is settled.

        The size that was reserved for the body stays reserved for the message until it is settled.

        Args:
            data: The body.
            make: Creates the delivery for a receipt number.

        Raises:
            Problem: The message is rejected, or is not settled in time.
        """
        if self._closed or len(self._sizes) >= _MOST_WAITING:
            self.forget(data)
            raise again("the server is stopping, or has too many unsettled messages")
        receipt = next(self._receipts)
        answer: asyncio.Future[Problem | None] = asyncio.get_running_loop().create_future()
        self._sizes[receipt], self._answers[receipt] = len(data), answer
        data.clear()  # the delivery has a copy
        self._queue.put(make(receipt))
        try:
            problem = await asyncio.wait_for(answer, self._wait_seconds)
        except asyncio.TimeoutError as exc:
            raise again(
                f"the message was not written to the topic within {self._wait_seconds:g} s"
            ) from exc
        finally:
            self._answers.pop(receipt, None)
        if problem is not None:
            raise problem

    def answer(self, receipts: Iterable[int], problem: Problem | None) -> None:
        """End the waits of `put` for messages, and release the reserved sizes.

        Args:
            receipts: The receipt numbers of the messages.
            problem: Raised by `put`; None if the messages are settled.
        """
        for receipt in receipts:
            self._bytes -= self._sizes.pop(receipt, 0)
            waiting = self._answers.pop(receipt, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(problem)

    def close(self) -> None:
        """Accept no further messages, and reply 503 to the senders of unsettled messages."""
        self._closed = True
        self.answer(list(self._sizes), again("this server ends"))

    def taken(self, limit: int, wait_seconds: float) -> list[Delivery]:
        """Return up to `limit` messages in order, after waiting for the first message."""
        found: list[Delivery] = []
        try:
            found.append(self._queue.get(timeout=wait_seconds))
            while len(found) < limit:
                found.append(self._queue.get_nowait())
        except queue.Empty:
            pass
        return found
