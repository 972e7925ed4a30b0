"""Blocking work in threads, with a bounded queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kstreams_serve.problems import Problem

__all__ = ("Restoring",)

T = TypeVar("T")
"""Type of a result."""


class Restoring:
    """Restores partitions and opens versions for all requests of an app.

    Requests for running work wait for the same work. If the queue is full, or the work takes long,
    the response asks the client to retry; the work continues meanwhile.

    Args:
        threads: The number of threads.
        line: The maximum number of queued and running items.
        seconds: The maximum wait of a request.
        why: The text for a request that has waited too long.
    """

    def __init__(
        self,
        threads: int,
        line: int,
        seconds: float,
        why: str = "the partitions are being restored from the log",
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, "kstreams-restore")
        self._line = line
        self._seconds = seconds
        self._why = why
        self._under_way: dict[object, asyncio.Future[object]] = {}

    async def result(self, name: object, work: Callable[[], T]) -> T:
        """Return the result of an item of work.

        Args:
            name: Identifies the work: calls with equal names share one run.
            work: Called in a thread, unless work of this name is running.

        Raises:
            Problem: The work takes longer; the client should retry.
        """
        found = self._under_way.get(name)
        if found is None:
            self._check_line()
            loop = asyncio.get_running_loop()
            found = self._under_way[name] = loop.run_in_executor(self._pool, work)
            found.add_done_callback(lambda done: self._ended(name, done))
        done, _ = await asyncio.wait({found}, timeout=self._seconds)
        if not done:
            raise _later(self._why)
        return found.result()  # type: ignore[return-value]  # of the work of this name

    def _check_line(self) -> None:
        if len(self._under_way) >= self._line:
            raise _later(f"too many requests are waiting: {self._why}")

    def _ended(self, name: object, done: asyncio.Future[object]) -> None:
        del self._under_way[name]
        if not done.cancelled():
            done.exception()  # a waiting request raises it; otherwise the next request fails again

    def close(self) -> None:
        """Cancel queued work, and accept no more; running work ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _later(detail: str) -> Problem:
    return Problem(503, detail, headers={"Retry-After": "1"})
