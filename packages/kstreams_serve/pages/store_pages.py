"""The page of all stores of an app, and the page with the rows of one store."""

from __future__ import annotations

import asyncio
import shlex
from dataclasses import dataclass
from typing import Any

from kstreams.views.store_reads import StoreReads
from kstreams_admin.flat_rows import columns_of, key_serde, row_columns
from kstreams_admin.row_text import RowText
from kstreams_serve.context import Context
from kstreams_serve.name_lookup import store_of
from kstreams_serve.pages.app_facts import AppFacts
from kstreams_serve.pages.cells import Cell, cells_of, key_parameters
from kstreams_serve.pages.store_versions import versions_of
from kstreams_serve.pages.time_fields import time_field, with_times
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.paging import Make, Row
from kstreams_serve.parameters import Parameters
from kstreams_serve.queries import Answered, Queries
from kstreams_serve.row_query import RowQuery
from kstreams_serve.served_app import ServedApp, ServedStore

__all__ = ("StorePages",)

_ROWS = 50
_TIMES = ("since", "until", "from", "to")
_GIVEN = ("start", "end", "prefix", *_TIMES, "reverse", "as_of", "at", "cursor")


@dataclass(frozen=True)
class _StoreLine:
    name: str
    kind: str
    key: str
    value: str
    group: str
    query: str
    partitions: int
    changelog: str


@dataclass(frozen=True)
class _RowLine:
    cells: list[Cell]
    link: dict[str, str]


class StorePages:
    """Creates the pages of stores.

    Args:
        context: The shared context of routes.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._queries = Queries(context)

    async def all(self, visit: Visit, app: ServedApp, facts: AppFacts) -> Page:
        """Return the page of all stores."""
        visit.given(())
        lines = await asyncio.to_thread(_store_lines, app)
        groups = {line.group for line in lines}
        sizes = {
            group: sum(
                size
                for status in facts.statuses
                for task, size in status.state_bytes.items()
                if task.group == group
            )
            for group in groups
        }
        return Page("stores.html", "Stores", {"stores": lines, "sizes": sizes}, tab="Stores")

    async def one(self, visit: Visit, _: ServedApp, __: AppFacts) -> Page:
        """Return the page of a store, with its rows if the visitor may see data."""
        app, store = await store_of(self._context, visit.request)
        given = with_times(visit.given(_GIVEN))
        name = store.spec.name
        line = next(
            each for each in await asyncio.to_thread(_store_lines, app) if each.name == name
        )
        content: dict[str, object] = {
            "store": line,
            "given": dict(given),
            "versions": await versions_of(app, store, given.get("as_of")),
            "found": None,
            "columns": (),
            "next": None,
            "has_prefix": store.spec.key.type_token in (str, bytes),
            "has_times": "start_ms" in row_columns(store.spec),
            "since": time_field(given, "from"),
            "until": time_field(given, "to"),
            "command": f"kstreams state scan {shlex.quote(app.name)} {shlex.quote(name)}",
        }
        if visit.sees_data:
            content |= await self._rows(app, store, given)
        return Page("store.html", f"Store {name}", content, tab="Stores", is_live=False)

    async def _rows(
        self, app: ServedApp, store: ServedStore, given: Parameters
    ) -> dict[str, object]:
        place = (app.name, store.spec.name)
        query = RowQuery.of(given, self._context.cursors, place, self._context.limits.key_bytes)
        found: Answered[_RowLine] = await self._queries.page(app, store, query, _ROWS, _linked)
        kept = {name: text for name, text in given.items() if name != "cursor"}
        return {
            "found": found,
            "columns": columns_of(found.pinned.reads(store.spec.name)),
            "next": None if found.cursor is None else {"cursor": found.cursor},
            "first": kept if "cursor" not in given else dict(query.choices),
        }


def _store_lines(app: ServedApp) -> list[_StoreLine]:
    checkpoint = app.checkpoint
    return [
        _StoreLine(
            name,
            str(schema.get("kind", "")),
            str(schema.get("key", "")),
            str(schema.get("value", "")),
            group,
            checkpoint.query_of_group(group),
            checkpoint.tasks[group],
            str(schema.get("changelog") or ""),
        )
        for name, (group, schema) in sorted(app.schemas().items())
    ]


def _linked(reads: StoreReads[Any]) -> Make[_RowLine]:
    """Return a function that converts rows to lines with links to the pages of their keys."""
    text = RowText(reads.spec, key_serde(reads), columns_of(reads))
    serde = reads.spec.key

    def made(parts: Row) -> tuple[_RowLine, int]:
        cells = cells_of(text.row(parts, key=True))
        return _RowLine(cells, key_parameters(serde, parts)), sum(len(cell.text) for cell in cells)

    return made
