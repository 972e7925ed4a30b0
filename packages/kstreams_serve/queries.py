"""Queries of all protocols; each reads one version, within the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from kstreams.errors import StoreError
from kstreams.state.stores.kind import Times
from kstreams.views.store_reads import StoreReads
from kstreams_admin.flat_rows import rows_of_key
from kstreams_serve.context import Context
from kstreams_serve.paging import Make, OpenScans, Row, take_page
from kstreams_serve.pinned_version import PinnedStores, pinned_stores
from kstreams_serve.problems import Problem
from kstreams_serve.row_query import RowQuery
from kstreams_serve.served_app import ServedApp, ServedStore
from kstreams_serve.version_parameters import NEWEST, AsOf

__all__ = ("Answered", "Queries", "Wanted")

T = TypeVar("T")
"""The result type for rows."""


@dataclass(frozen=True)
class Answered(Generic[T]):
    """The result of a query.

    Attributes:
        pinned: The stores at the version that was read.
        rows: The converted rows: one item per row of a page, or one item per key.
        cursor: The position of the next page; None if there is no next page.
    """

    pinned: PinnedStores
    rows: list[T]
    cursor: str | None = None


@dataclass(frozen=True)
class Wanted:
    """A key of a store.

    Attributes:
        store: The store.
        key: The key.
        times: The times of the rows to select, for store kinds whose rows have times.
    """

    store: ServedStore
    key: object
    times: Times = (None, None)


class Queries:
    """Reads stores of a server's apps, for HTTP, gRPC and pages.

    Args:
        context: The shared context of routes.
    """

    def __init__(self, context: Context) -> None:
        self._limits = context.limits
        self._cursors = context.cursors
        self._scans = OpenScans()
        self._pages = 0

    async def version(self, app: ServedApp, store: ServedStore) -> PinnedStores:
        """Return the newest version of a store, for an event without rows."""
        return await pinned_stores(app, (store,), NEWEST, self._limits, ())

    async def keys(
        self,
        app: ServedApp,
        wanted: Sequence[Wanted],
        as_of: AsOf,
        make: Callable[[StoreReads[Any]], Callable[[list[Row]], tuple[T, int]]],
    ) -> Answered[T]:
        """Read the rows of keys in stores at one version; other requests run in between.

        Args:
            app: The app.
            wanted: Keys of stores of one query.
            as_of: The version.
            make: Called with the reads of each store. It returns a function that converts the flat
                rows of a key (without the key) to a result, and returns its size in bytes too.

        Raises:
            Problem: The request is too large; or see `pinned_stores`.
        """
        stores = list({each.store.spec.name: each.store for each in wanted}.values())
        partitions: Sequence[int] | None = None
        if len(stores) == 1:
            of = stores[0].newest.partitions_of
            partitions = sorted({place for each in wanted for place in of(each.key)})
        pinned = await pinned_stores(app, stores, as_of, self._limits, partitions)
        makes = {store.spec.name: make(pinned.reads(store.spec.name)) for store in stores}
        loop = asyncio.get_running_loop()
        begun = breath = loop.time()
        made: list[T] = []
        size = count = 0
        for each in wanted:
            rows = self._rows(pinned, each)
            item, item_bytes = makes[each.store.spec.name](rows)
            made.append(item)
            size += item_bytes
            count += len(rows)
            now = loop.time()
            if len(wanted) > 1:
                self._check_size(size, count, now - begun)
            if now - breath > self._limits.slice_seconds:
                await asyncio.sleep(0)
                breath = loop.time()
        return Answered(pinned, made)

    def _rows(self, pinned: PinnedStores, wanted: Wanted) -> list[Row]:
        reads = pinned.reads(wanted.store.spec.name)
        rows = rows_of_key(reads, wanted.key, wanted.times)
        found = list(islice(rows, self._limits.rows + 1))
        if len(found) > self._limits.rows:
            raise Problem(
                413,
                f"the key has more than {self._limits.rows} rows",
                hint="select a range of times with from and to.",
            )
        return found

    def _check_size(self, size: int, count: int, seconds: float) -> None:
        limits = self._limits
        if size > limits.answer_bytes or count > limits.rows or seconds > limits.read_seconds:
            raise Problem(
                413,
                f"the read of the keys exceeds {limits.rows} rows, {limits.answer_bytes} bytes or "
                f"{limits.read_seconds:g} s",
                hint="request fewer keys at once.",
            )

    async def page(
        self,
        app: ServedApp,
        store: ServedStore,
        query: RowQuery,
        limit: int,
        make: Callable[[StoreReads[Any]], Make[T]],
    ) -> Answered[T]:
        """Return a page of rows, in the order of the store.

        Args:
            app: The app.
            store: The store.
            query: The selected rows.
            limit: The maximum number of rows.
            make: Called with the reads of the store; see `Make`.

        Raises:
            Problem: The version of a cursor is not retained; too many pages are being read; or see
                `pinned_stores`.
        """
        rows = self._scans.take(query.name, query.skip) if query.epoch is not None else None
        with self._one_more():
            try:
                pinned = await pinned_stores(app, (store,), query.as_of, self._limits)
            except StoreError as exc:
                if query.epoch is not None and type(exc) is StoreError:
                    raise _cursor_expired() from exc
                raise
            if query.epoch not in (None, pinned.epoch):
                raise _cursor_expired()
            reads = pinned.reads(store.spec.name)
            if rows is None:
                rows = query.rows(reads)
            page = await take_page(rows, query.skip, limit, self._limits, make(reads))
        if page.ended:
            return Answered(pinned, page.rows)
        content = query.after(reads, rows, pinned)
        if not content["k"]:
            self._scans.put(query.name, rows)
        return Answered(pinned, page.rows, self._cursors.make(content))

    @contextmanager
    def _one_more(self) -> Iterator[None]:
        """Count a page while it is being read; raises `Problem` if too many are."""
        if self._pages >= self._limits.pages:
            raise Problem(
                503,
                f"the server is already reading {self._pages} pages, its limit",
                headers={"Retry-After": "1"},
            )
        self._pages += 1
        try:
            yield
        finally:
            self._pages -= 1


def _cursor_expired() -> Problem:
    return Problem(
        410,
        "the version of this cursor is gone; begin with the first page again",
        hint="App(retained_batches=...) keeps versions for longer.",
    )
