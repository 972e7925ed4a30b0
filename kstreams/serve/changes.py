"""What a follower of a store is told: a key's rows when they change, or each version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kstreams.serve.as_of import NEWEST
from kstreams.serve.paging import Row
from kstreams.serve.problems import Problem
from kstreams.serve.queries import Queries, Wanted
from kstreams.serve.served_app import ServedApp, ServedStore
from kstreams.serve.streams import Event
from kstreams.views.store_reads import StoreReads

__all__ = ("Changes",)


class Changes:
    """The changes of a store, or of one of its keys, as one follower sees them.

    Args:
        queries: Reads.
        app: The store's.
        store: The store.
        wanted: The key; None is each version, without rows.
        make: Makes a text of JSON of a key's rows, and says how many bytes that is.
        seen: The id of the event that the follower has had last: it gets that one not again.
    """

    def __init__(
        self,
        queries: Queries,
        app: ServedApp,
        store: ServedStore,
        wanted: Wanted | None,
        make: Callable[[StoreReads[Any]], Callable[[list[Row]], tuple[str, int]]],
        seen: str | None,
    ) -> None:
        self._queries = queries
        self._app = app
        self._store = store
        self._wanted = wanted
        self._make = make
        self._id = seen
        self._rows: str | None = None

    async def look(self) -> Event | None:
        """Return what is new since the last look; None where nothing is.

        Raises:
            KStreamsError: The store cannot be read.
        """
        wanted = self._wanted
        if wanted is None:
            version = await self._queries.version(self._app, self._store)
            rows = None
        else:
            try:
                found = await self._queries.keys(self._app, (wanted,), NEWEST, self._make)
            except Problem as problem:
                if problem.status == 503:  # a partition is being restored
                    return None
                raise
            version, (rows,) = found.standing, found.rows
        named = version.tag.strip('"')
        known, self._id = named == self._id, named
        same = known if rows is None or self._rows is None else rows == self._rows
        self._rows = rows
        if same:
            return None
        content = f'{{"version": {"null" if version.batch is None else version.batch}'
        return Event(named, content + ("}" if rows is None else f', "rows": {rows}}}'))
