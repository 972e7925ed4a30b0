"""Live updates of open pages: changed regions are sent as events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

from starlette.requests import Request

from kstreams_serve.pages.rendering import regions_of
from kstreams_serve.pages.visits import Page
from kstreams_serve.problems import Problem
from kstreams_serve.settings import Limits
from kstreams_serve.streams import Event, EventStream, Streams

__all__ = ("LivePages",)

_TICK_SECONDS = 0.5
_BEAT_SECONDS = 5.0
"""The interval of events without changes, by which a page sees that it is connected."""
_MOST_PAGES = 200

_Regions = dict[str, str]
"""HTML by the name of a region."""


class LivePages:
    """Sends the changed regions of pages; visitors of the same page share its rendering.

    Args:
        streams: Counts the open event streams.
        limits: The limits of the server.
    """

    def __init__(self, streams: Streams, limits: Limits) -> None:
        self._streams = streams
        self._limits = limits
        self._made: dict[tuple[str, int], tuple[float, asyncio.Future[_Regions]]] = {}

    def stream(
        self, request: Request, html: Callable[[], Awaitable[tuple[Page, str]]]
    ) -> EventStream:
        """Return a stream of events with the changed regions.

        Args:
            request: The request of the page.
            html: Renders the current page.
        """
        name = (str(request.url), int(request.scope["role"]))
        seen: _Regions = {}
        said = [float("-inf")]

        async def look() -> Event | None:
            try:
                found = await asyncio.shield(self._regions(name, html))
            except Problem as problem:
                if problem.status == 503:  # a partition is being restored
                    return None
                raise
            changed = {key: text for key, text in found.items() if seen.get(key) != text}
            seen.update(changed)
            now = asyncio.get_running_loop().time()
            if not changed and now - said[0] < _BEAT_SECONDS:
                return None
            said[0] = now
            return Event("page", json.dumps(changed))

        return EventStream(self._streams, self._limits, look, _tick)

    def _regions(
        self, name: tuple[str, int], html: Callable[[], Awaitable[tuple[Page, str]]]
    ) -> asyncio.Future[_Regions]:
        now = asyncio.get_running_loop().time()
        made, found = self._made.get(name, (float("-inf"), None))
        if found is not None and now - made < _TICK_SECONDS:
            return found

        async def regions() -> _Regions:
            _, text = await html()
            return regions_of(text)

        if len(self._made) >= _MOST_PAGES:
            self._made.clear()
        work = asyncio.ensure_future(regions())
        self._made[name] = (now, work)
        return work


def _tick() -> asyncio.Event:
    """Return an event that is set when open pages must be checked for changes again."""
    found = asyncio.Event()
    asyncio.get_running_loop().call_later(_TICK_SECONDS, found.set)
    return found
