"""The page with the differences of a store between two versions."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kstreams.views.store_reads import StoreReads
from kstreams_admin.difference import changed_rows
from kstreams_admin.flat_rows import columns_of, key_serde
from kstreams_admin.row_text import RowText
from kstreams_serve.context import Context
from kstreams_serve.name_lookup import store_of
from kstreams_serve.pages.app_facts import AppFacts
from kstreams_serve.pages.cells import Cell, cells_of, key_parameters
from kstreams_serve.pages.store_versions import versions_of
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.paging import Make, OpenRows, OpenScans, Row, take_page
from kstreams_serve.parameters import Parameters
from kstreams_serve.pinned_version import PinnedStores, pinned_stores
from kstreams_serve.problems import Problem
from kstreams_serve.served_app import ServedApp, ServedStore
from kstreams_serve.version_parameters import AsOf, as_of_in

__all__ = ("DiffPage",)

_ROWS = 50


@dataclass(frozen=True)
class _ChangeLine:
    sign: str
    cells: list[Cell]
    link: dict[str, str]


@dataclass(frozen=True)
class _Wanted:
    """A request for a page of differences: two versions, and the first row of the page.

    Attributes:
        before: The earlier version.
        after: The later version.
        skip: The number of rows that earlier pages have compared.
        name: The name under which `OpenScans` keeps the scan.
        epoch: The epoch of a cursor's versions; None without a cursor.
    """

    before: AsOf
    after: AsOf
    skip: int = 0
    name: str = ""
    epoch: str | None = None


class DiffPage:
    """Creates the page of differences; it reads both versions in parallel, for a limited time.

    Args:
        context: The shared context of routes.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._scans = OpenScans()

    async def page(self, visit: Visit, _: ServedApp, __: AppFacts) -> Page:
        """Return the page of two versions; without versions, a form that asks for them."""
        app, store = await store_of(self._context, visit.request)
        given = visit.given(("before", "after", "cursor"))
        name = store.spec.name
        wanted = self._wanted((app.name, name), given)
        content: dict[str, object] = {
            "store": name,
            "given": dict(given),
            "before": await versions_of(app, store, given.get("before")),
            "after": await versions_of(app, store, given.get("after")),
            "found": None,
            "command": _command(app.name, name, given),
        }
        if wanted is not None:
            content |= await self._changes(app, store, wanted)
        return Page("diff.html", f"Changes of {name}", content, tab="Stores", is_live=False)

    def _wanted(self, place: tuple[str, str], given: Parameters) -> _Wanted | None:
        cursor = given.get("cursor")
        if cursor is None:
            before, after = as_of_in(given, "before"), as_of_in(given, "after")
            if before.version is None:
                return None
            return _Wanted(before, after, name=secrets.token_hex(8))
        found = self._context.cursors.read(cursor)
        if [*place] != found.anything("diff") or len(given) > 1:
            raise Problem(
                400,
                "cursor belongs to another page, or is given with other parameters",
                hint="start with the first page again.",
            )
        versions = (found.anything("before"), found.anything("after"))
        before, after = (as_of_in({"as_of": each}) for each in versions)
        return _Wanted(before, after, found.integer("n"), found.text("i"), found.text("l"))

    async def _changes(
        self, app: ServedApp, store: ServedStore, wanted: _Wanted
    ) -> Mapping[str, object]:
        limits, name = self._context.limits, store.spec.name
        before = await pinned_stores(app, (store,), wanted.before, limits)
        after = await pinned_stores(app, (store,), wanted.after, limits)
        if before.epoch != after.epoch or wanted.epoch not in (None, before.epoch):
            raise Problem(
                410,
                "the app was reset or upgraded between the versions, or since the first page",
                hint="choose two versions of one epoch, and start with the first page.",
            )
        rows = self._scans.take(wanted.name, wanted.skip) or _rows(
            before.reads(name), after.reads(name)
        )
        found = await take_page(rows, wanted.skip, _ROWS, limits, _lines(after.reads(name)))
        cursor = None
        if not found.ended:
            self._scans.put(wanted.name, rows)
            cursor = self._context.cursors.make(
                {
                    "diff": [app.name, name],
                    "before": _version(wanted.before, before),
                    "after": _version(wanted.after, after),
                    "n": rows.looked,
                    "i": wanted.name,
                    "l": after.epoch,
                }
            )
        return {
            "found": found.rows,
            "columns": columns_of(after.reads(name)),
            "first": before,
            "second": after,
            "next": cursor,
        }


def _version(asked: AsOf, found: PinnedStores) -> int | str | None:
    return asked.version if isinstance(asked.version, str) else found.batch


def _rows(before: StoreReads[Any], after: StoreReads[Any]) -> OpenRows:
    """Return the changed rows; the last column has the sign of the change."""

    def signed() -> Iterator[Row | None]:
        for each in changed_rows(before, after):
            yield None if each is None else (*each.row, each.sign)

    return OpenRows(signed(), key_serde(after).ordered.serialize)


def _lines(reads: StoreReads[Any]) -> Make[_ChangeLine]:
    text = RowText(reads.spec, key_serde(reads), columns_of(reads))

    def made(parts: Row) -> tuple[_ChangeLine, int]:
        *row, sign = parts
        cells = cells_of(text.row(tuple(row), key=True))
        link = key_parameters(reads.spec.key, tuple(row))
        return _ChangeLine(sign, cells, link), sum(len(cell.text) for cell in cells)

    return made


def _command(app: str, store: str, given: Parameters) -> str:
    versions = [given.get("before", "BEFORE"), *filter(None, [given.get("after")])]
    return shlex.join(["kstreams", "state", "diff", app, store, *versions])
