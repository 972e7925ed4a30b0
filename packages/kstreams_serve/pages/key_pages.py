"""The pages of a store's key (current and earlier values), and the search in all stores."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote, urlencode

from kstreams.errors import KStreamsError
from kstreams.state.log.fields import MOST
from kstreams.views.store_reads import StoreReads
from kstreams_admin.flat_rows import key_serde, lies_by_key, rows_of
from kstreams_admin.row_text import RowText
from kstreams_explain.history import KeyHistory, history_of
from kstreams_explain.key_rows import KeyRows, Rows
from kstreams_serve.context import Context
from kstreams_serve.name_lookup import store_of
from kstreams_serve.pages.app_facts import AppFacts
from kstreams_serve.pages.cells import Cell, cells_of, key_parameters, shown_key
from kstreams_serve.pages.store_versions import versions_of
from kstreams_serve.pages.time_fields import time_field, with_times
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.paging import Row
from kstreams_serve.parameters import key_of
from kstreams_serve.pinned_version import pinned_stores
from kstreams_serve.problems import Problem
from kstreams_serve.queries import Queries, Wanted
from kstreams_serve.served_app import ServedApp
from kstreams_serve.version_parameters import NEWEST, as_of_in

__all__ = ("KeyPages",)

_NEAR = 3
_MOST_STORES = 50
_MOST_CHANGES = 60
_MOST_ROWS = 5


@dataclass(frozen=True)
class _KeyRow:
    cells: list[Cell]
    link: dict[str, str] | None = None


@dataclass(frozen=True)
class _ChangeLine:
    batch: int
    wall_ms: int
    before: list[list[Cell]]
    after: list[list[Cell]]


@dataclass(frozen=True)
class _Hit:
    store: str
    rows: int
    first: list[Cell]
    link: dict[str, str]
    problem: str = ""


class KeyPages:
    """Creates the pages of keys.

    Args:
        context: The shared context of routes.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._queries = Queries(context)

    async def key(self, visit: Visit, _: ServedApp, __: AppFacts) -> Page:
        """Return the page of a key with its rows in the store."""
        app, store = await store_of(self._context, visit.request)
        given = with_times(
            visit.given(("key", "key_format", "since", "until", "from", "to", "as_of", "at"))
        )
        serde = store.spec.key
        text = given.required("key")
        form = given.get("key_format", "text")
        key = key_of(serde, text, form, self._context.limits.key_bytes)
        times = (given.whole("from", -MOST, MOST), given.whole("to", -MOST, MOST))
        found = await self._queries.keys(
            app, (Wanted(store, key, times),), as_of_in(given), _whole_rows
        )
        rows = found.rows[0]
        near: list[_KeyRow] = []
        if not rows:
            with suppress(Problem):  # other partitions are being restored
                every = await pinned_stores(app, (store,), as_of_in(given), self._context.limits)
                near = list(_nearest(every.reads(store.spec.name), key))
        parameters = {"key": text, "key_format": given.get("key_format")}
        content = {
            "store": store.spec.name,
            "key": shown_key(key, serde),
            "parameters": parameters,
            "given": dict(given),
            "has_times": store.spec.kind.has_times,
            "since": time_field(given, "from"),
            "until": time_field(given, "to"),
            "versions": await versions_of(app, store, given.get("as_of")),
            "pinned": found.pinned,
            "columns": store.spec.kind.columns_of_key,
            "rows": rows,
            "near": near,
            "commands": _commands(app.name, store.spec.name, text, form),
        }
        status = 200 if rows else 404
        return Page("key.html", f"{shown_key(key, serde)} in {store.spec.name}", content, status,
                    tab="Stores")  # fmt: skip

    async def history(self, visit: Visit, _: ServedApp, __: AppFacts) -> Page:
        """Return the page of a key's values at each retained version."""
        app, store = await store_of(self._context, visit.request)
        given = visit.given(("key", "key_format"))
        text, form = given.required("key"), given.get("key_format", "text")
        key = key_of(store.spec.key, text, form, self._context.limits.key_bytes)
        rows = KeyRows(store.spec, key)

        def read() -> KeyHistory:
            return history_of(app.place(store), rows, app.partitioner)

        found = await app.restoring.result(("history", store.spec.name, text, form), read)
        newest = [
            _ChangeLine(
                each.batch, each.wall_ms, _lines(rows, each.before), _lines(rows, each.after)
            )
            for each in reversed(found.changes)
        ]
        content = {
            "store": store.spec.name,
            "key": shown_key(key, store.spec.key),
            "parameters": {"key": text, "key_format": given.get("key_format")},
            "query": found.query,
            "task": found.task,
            "retained": found.retained,
            "first": _lines(rows, found.first),
            "changes": newest[:_MOST_CHANGES],
            "more": max(0, len(newest) - _MOST_CHANGES),
            "points": _points(found),
            "columns": store.spec.kind.columns_of_key,
            "explains": self._context.code_runs.knows(app.name),
            "command": _explain_command(app.name, store.spec.name, text, form),
        }
        title = f"History of {shown_key(key, store.spec.key)}"
        return Page("history.html", title, content, tab="Stores", is_live=False)

    async def look(self, visit: Visit, app: ServedApp, _: AppFacts) -> Page:
        """Return the page of the stores that contain a key."""
        given = visit.given(("key",))
        text = given.required("key")
        names = sorted(await asyncio.to_thread(app.schemas))[:_MOST_STORES]
        hits = [hit for name in names if (hit := await self._hit(app, name, text)) is not None]
        content = {"text": text, "hits": hits, "stores": len(names)}
        return Page("look.html", f"Look up {text[:40]}", content, tab="Stores", is_live=False)

    async def _hit(self, app: ServedApp, name: str, text: str) -> _Hit | None:
        """Return the rows of a store for a key given as text; None without rows."""
        link = {"key": text}
        try:
            store = await app.store(name)
            key = key_of(store.spec.key, text, "text", self._context.limits.key_bytes)
            found = await self._queries.keys(app, (Wanted(store, key),), NEWEST, _whole_rows)
        except Problem as problem:
            if problem.status != 503:  # else it is being restored
                return None
            return _Hit(name, 0, [], link, "its partitions are being restored; look again")
        except KStreamsError as exc:
            return _Hit(name, 0, [], link, exc.message)
        rows = found.rows[0]
        return _Hit(name, len(rows), rows[0].cells, link) if rows else None


def _lines(rows: KeyRows, found: Rows) -> list[list[Cell]]:
    return [cells_of(row) for row in rows.to_json(found)[:_MOST_ROWS]]


def _points(history: KeyHistory) -> list[float]:
    """Return the values of a key by version; empty unless all are numbers."""
    versions = [history.first, *(each.after for each in history.changes)]
    known = [rows[0][0] for rows in versions if len(rows) == 1]
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in known):
        return []
    return [float(value) for value in known] if all(len(rows) <= 1 for rows in versions) else []


def _explain_command(app: str, store: str, text: str, form: str) -> str:
    key = shlex.quote(text) if form == "text" else "KEY"
    return f"kstreams explain {shlex.quote(app)} {shlex.quote(store)} {key} --topology MODULE:NAME"


def _whole_rows(reads: StoreReads[Any]) -> Callable[[list[Row]], tuple[list[_KeyRow], int]]:
    text = RowText.of_key(reads.spec, key_serde(reads))

    def made(rows: list[Row]) -> tuple[list[_KeyRow], int]:
        lines = [_KeyRow(cells_of(text.row(row, key=False), whole=True)) for row in rows]
        return lines, sum(len(cell.text) for line in lines for cell in line.cells)

    return made


def _nearest(reads: StoreReads[Any], key: object) -> Iterator[_KeyRow]:
    """Yield the keys before and after a missing key; none if rows are not ordered by key."""
    if not lies_by_key(reads):
        return
    serde = reads.spec.key
    before = list(islice(rows_of(reads, None, key, reverse=True), _NEAR))
    after = islice(rows_of(reads, key, None), _NEAR)
    for parts in (*reversed(before), *after):
        shown = Cell(shown_key(parts[0], serde), "text")
        yield _KeyRow([shown], key_parameters(serde, parts))


def _commands(app: str, store: str, text: str, form: str) -> list[str]:
    """Return the shell commands that print the rows of a key: `curl`, and `kstreams` if possible.

    Args:
        app: The app id.
        store: The name of the store.
        text: The key, as in the request.
        form: The form of the key: `text`, `json` or `base64`.
    """
    query = urlencode({"key": text, **({"key_format": form} if form != "text" else {})},
                      quote_via=quote)  # fmt: skip
    path = f"/v1/apps/{quote(app, safe='')}/stores/{quote(store, safe='')}/key?{query}"
    found = [f'curl -H "Authorization: Bearer $TOKEN" {shlex.quote(f"http://SERVER{path}")}']
    if form == "text":
        found.insert(0, shlex.join(["kstreams", "state", "get", app, store, text]))
    return found
