"""The response times of a server, by route."""

from __future__ import annotations

import threading
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kstreams.telemetry.counters import DURATION_BOUNDS_S, Durations
from kstreams_serve.exposition import Family

__all__ = ("RequestTimes",)


class RequestTimes:
    """Counts responses by route and status, and the time until each response began."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._durations: dict[tuple[str, int], Durations] = {}

    def note(self, route: str, code: int, seconds: float) -> None:
        """Count a response: its status code, and the seconds until it began."""
        with self._mutex:
            self._durations.setdefault((route, code), Durations()).add(seconds)

    def add_to(self, family: Family) -> None:
        """Add all counts and times to a metric."""
        with self._mutex:
            for (route, code), found in self._durations.items():
                family.add_histogram(
                    DURATION_BOUNDS_S, found.counts, found.sum_s, route=route, code=code
                )

    def timed(self, route: str, began: float, app: ASGIApp) -> ASGIApp:
        """Return an application that responds like `app`, and is counted when its response begins.

        Args:
            route: The path of the route, with the names of its parameters in braces.
            began: The arrival of the request, by `time.perf_counter`.
            app: The response.
        """

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            async def noted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    self.note(route, message["status"], time.perf_counter() - began)
                await send(message)

            await app(scope, receive, noted)

        return answer
