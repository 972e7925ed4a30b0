"""The events of a store's follower: the rows of a key when they change, or each version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kstreams.views.store_reads import StoreReads
from kstreams_serve.paging import Row
from kstreams_serve.pinned_version import PinnedStores
from kstreams_serve.problems import Problem
from kstreams_serve.queries import Queries, Wanted
from kstreams_serve.served_app import ServedApp, ServedStore
from kstreams_serve.version_parameters import NEWEST

__all__ = ("Changes", "News")

T = TypeVar("T")
"""The result type for the rows of a key."""


@dataclass(frozen=True)
class News(Generic[T]):
    """A change of a followed store or key.

    Attributes:
        pinned: The store at its new version.
        rows: The key's rows, as converted by `Changes(make=...)`; None if each version is followed.
    """

    pinned: PinnedStores
    rows: T | None


class Changes(Generic[T]):
    """Finds new versions of a store, or changes of one of its keys, for one client.

    Args:
        queries: Reads the store.
        app: The app.
        store: The store.
        wanted: The key; None: each new version is a change, without rows.
        make: Called with the reads of the store; returns a function that converts the rows of a key
            to a comparable result, and returns the result and its size in bytes.
        seen: The tag of the last version that the client has; this version is no change. None: the
            current version is a change.
    """

    def __init__(
        self,
        queries: Queries,
        app: ServedApp,
        store: ServedStore,
        wanted: Wanted | None,
        make: Callable[[StoreReads[Any]], Callable[[list[Row]], tuple[T, int]]],
        seen: str | None,
    ) -> None:
        self._queries = queries
        self._app = app
        self._store = store
        self._wanted = wanted
        self._make = make
        self._tag = seen
        self._rows: T | None = None

    async def look(self) -> News[T] | None:
        """Return the change since the last call; None without a change.

        Raises:
            Problem: The key has too many rows.
            KStreamsError: The store cannot be read.
        """
        rows: T | None = None
        if self._wanted is None:
            pinned = await self._queries.version(self._app, self._store)
        else:
            try:
                found = await self._queries.keys(self._app, (self._wanted,), NEWEST, self._make)
            except Problem as problem:
                if problem.status == 503:  # a partition is being restored
                    return None
                raise
            pinned, (rows,) = found.pinned, found.rows
        known, self._tag = pinned.tag == self._tag, pinned.tag
        same = known if rows is None or self._rows is None else rows == self._rows
        self._rows = rows
        return None if same else News(pinned, rows)
