"""Reads of stores over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kstreams.quoting import repr_of
from kstreams.state.log.fields import MOST
from kstreams.views.store_reads import StoreReads
from kstreams_admin.flat_rows import columns_of, key_serde
from kstreams_admin.recorded import undecoded
from kstreams_admin.row_text import RowText, bytes_of, json_text
from kstreams_admin.values import exact
from kstreams_serve.action import Action
from kstreams_serve.changes import Changes, News
from kstreams_serve.context import Context
from kstreams_serve.name_lookup import app_of, store_of
from kstreams_serve.paging import Make, Row
from kstreams_serve.parameters import KEY_FORMATS, Parameters, key_of
from kstreams_serve.problems import Problem
from kstreams_serve.queries import Answered, Queries, Wanted
from kstreams_serve.request_bodies import json_body, text_answer
from kstreams_serve.roles import Role
from kstreams_serve.row_query import RowQuery
from kstreams_serve.served_app import ServedStore
from kstreams_serve.stored_query import StoredQuery
from kstreams_serve.streams import Event, EventStream
from kstreams_serve.version_parameters import as_of_in

__all__ = ("Reads",)

_STORE = "/v1/apps/{app}/stores/{store}"
_BYTES = "application/octet-stream"
_DEFAULT_ROWS = 100

_TEXT: Mapping[str, Any] = {"type": "string"}
_WHOLE: Mapping[str, Any] = {"type": "integer"}
_COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 1}
_FLAG: Mapping[str, Any] = {"type": "boolean"}
_AT: Mapping[str, Mapping[str, Any]] = {
    "as_of": {"type": ["string", "integer"], "description": "A batch, or a savepoint's name."},
    "at": {"type": "string", "description": "A time: the version that was the newest then."},
    "min_version": {"type": "integer", "minimum": 0, "description": "Wait for this batch."},
}
_TIMES = {"from": _WHOLE, "to": _WHOLE}
_FORM = {"type": "string", "enum": list(KEY_FORMATS)}
_KEYS: Mapping[str, Any] = {"type": "array", "minItems": 1}
_OBJECT = {"type": "object"}
_NO_ROWS = "[]"


class Reads:
    """The handlers of the routes that return keys and values.

    Args:
        context: The shared context of routes.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._limits = context.limits
        self._queries = Queries(context)

    def actions(self) -> Sequence[Action]:
        """Return the actions of the routes that read keys and rows."""
        key = {"key": _TEXT, "key_format": _FORM}
        bounds = {"start": _TEXT, "end": _TEXT}
        rows = {**bounds, "prefix": _TEXT, **_TIMES, "reverse": _FLAG, "key_format": _FORM, **_AT,
                "limit": _COUNT, "cursor": _TEXT}  # fmt: skip
        stored = {"version": {}, "epoch": _TEXT, "partition": _WHOLE, "keys": _KEYS, **bounds,
                  "reverse": _FLAG, "limit": _COUNT}  # fmt: skip
        multi = {"keys": _KEYS, "key_format": _FORM, **_AT}
        data, events = Role.DATA, ("text/event-stream",)
        return (
            Action("GET", f"{_STORE}/key", data, self.key, {**key, **_TIMES, **_AT},
                   needed=("key",), answer=_OBJECT),
            Action("GET", f"{_STORE}/rows", data, self.rows, rows, answer=_OBJECT),
            Action("GET", f"{_STORE}/follow", data, self.follow, key, media=events),
            Action("POST", f"{_STORE}/multi", data, self.multi, {}, multi, ("keys",), _OBJECT),
            Action("POST", f"{_STORE}/stored", data, self.stored, {}, stored, ("partition",),
                   media=(_BYTES,)),
            Action("POST", "/v1/apps/{app}/read", data, self.read, {}, {"reads": _KEYS, **_AT},
                   ("reads",), _OBJECT),
        )  # fmt: skip

    async def key(self, request: Request) -> Response:
        """Read one key: its value, or its windows, sessions, versions, list elements."""
        given = Parameters.of(request.scope["query_string"], ("key", "key_format", *_TIMES, *_AT))
        app, store = await store_of(self._context, request)
        wanted = Wanted(
            store,
            self._key(store, given.required("key"), given.get("key_format", "text")),
            (given.whole("from", -MOST, MOST), given.whole("to", -MOST, MOST)),
        )
        found = await self._queries.keys(app, (wanted,), as_of_in(given), _key_rows)
        pinned, (rows,) = found.pinned, found.rows
        headers = {"ETag": f'"{pinned.tag}"', **pinned.headers}
        if _is_known(request, headers["ETag"]):
            return Response(status_code=304, headers=headers)
        if rows == _NO_ROWS:
            raise Problem(
                404,
                f"store {store.spec.name!r} has no rows of the requested key",
                headers=pinned.headers,
            )
        key = json_text(exact(wanted.key, store.spec.key))
        return text_answer(f'{{"key": {key}, "rows": {rows}{_note(store)}}}', headers)

    async def rows(self, request: Request) -> Response:
        """Read a page of rows, in the store's order: all, a range of keys, or a prefix."""
        given = Parameters.of(
            request.scope["query_string"],
            ("start", "end", "prefix", *_TIMES, "reverse", "key_format", *_AT, "limit", "cursor"),
        )
        app, store = await store_of(self._context, request)
        limit = given.whole("limit", 1, self._limits.rows) or _DEFAULT_ROWS
        place = (app.name, store.spec.name)
        query = RowQuery.of(given, self._context.cursors, place, self._limits.key_bytes)
        page = await self._queries.page(app, store, query, limit, _page_rows)
        headers = {"ETag": f'"{page.pinned.tag}"', **page.pinned.headers}
        if _is_known(request, headers["ETag"]):
            return Response(status_code=304, headers=headers)
        rows, cursor = ", ".join(page.rows), json.dumps(page.cursor)
        body = f'{{"rows": [{rows}], "cursor": {cursor}{_note(store)}}}'
        return text_answer(body, headers)

    async def multi(self, request: Request) -> Response:
        """Read many keys of one store, all at one version."""
        body = await self._body(request, ("keys", "key_format", *_AT))
        app, store = await store_of(self._context, request)
        form = body.get("key_format", "text")
        keys = self._list(body, "keys")
        wanted = [Wanted(store, self._key_in(store, key, form)) for key in keys]
        found = await self._queries.keys(app, wanted, as_of_in(body), _key_rows)
        content = [{"key": key} for key in keys]
        return _found(content, found)

    async def read(self, request: Request) -> Response:
        """Read keys of several stores of one query, all at one version."""
        body = await self._body(request, ("reads", *_AT))
        app = app_of(self._context, request)
        wanted: list[Wanted] = []
        content: list[dict[str, object]] = []
        for each in self._list(body, "reads"):
            if not isinstance(each, dict) or not isinstance(each.get("store"), str):
                raise Problem(400, "each item of reads must be an object with store and key")
            _check_fields(each, ("store", "key", "key_format"))
            store = await app.store(each["store"])
            key = self._key_in(store, each.get("key"), each.get("key_format", "text"))
            wanted.append(Wanted(store, key))
            content.append({"store": store.spec.name, "key": each.get("key")})
        found = await self._queries.keys(app, wanted, as_of_in(body), _key_rows)
        return _found(content, found)

    async def stored(self, request: Request) -> Response:
        """Read encoded rows of one partition, for clients that decode them themselves."""
        body = await self._body(
            request, ("version", "epoch", "partition", "keys", "start", "end", "reverse", "limit")
        )
        _, store = await store_of(self._context, request)
        query = StoredQuery.of(body, store, self._limits)
        data, headers = await query.answer(store)
        return Response(data, headers=headers, media_type=_BYTES)

    async def follow(self, request: Request) -> EventStream:
        """Send an event for each new version: a key's rows when they change, or the version."""
        given = Parameters.of(request.scope["query_string"], ("key", "key_format"))
        app, store = await store_of(self._context, request)
        text = given.get("key")
        wanted = None
        if text is not None:
            wanted = Wanted(store, self._key(store, text, given.get("key_format", "text")))
        seen = request.headers.get("last-event-id")
        changes = Changes(self._queries, app, store, wanted, _key_rows, seen)

        async def look() -> Event | None:
            news = await changes.look()
            return None if news is None else _event(news)

        return EventStream(self._context.streams, self._limits, look, app.change)

    # ------------------------------------------------------------ parts

    def _key(self, store: ServedStore, given: object, form: object) -> object:
        return key_of(store.spec.key, given, form, self._limits.key_bytes)

    def _key_in(self, store: ServedStore, given: object, form: object) -> object:
        """Return a key in a JSON body; with the form `json`, the value itself is the key."""
        return self._key(store, json.dumps(given) if form == "json" else given, form)

    def _list(self, body: Mapping[str, Any], name: str) -> list[Any]:
        found = body.get(name)
        if not isinstance(found, list) or not 0 < len(found) <= self._limits.keys:
            raise Problem(400, f"{name} must be a list of 1 to {self._limits.keys} items")
        return found

    async def _body(self, request: Request, known: Sequence[str]) -> Mapping[str, Any]:
        body = await json_body(request, self._limits)
        _check_fields(body, known)
        return body


def _found(content: Sequence[Mapping[str, object]], found: Answered[str]) -> Response:
    """Return a response with a JSON object for each key: its fields in `content`, and its rows."""
    made = [
        f'{json_text(own)[:-1]}, "rows": {rows}}}'
        for own, rows in zip(content, found.rows, strict=True)
    ]
    return text_answer(f'{{"found": [{", ".join(made)}]}}', found.pinned.headers)


def _note(store: ServedStore) -> str:
    """Return a field of JSON that explains undecoded keys and values; empty if there are none."""
    note = undecoded(store.spec.key, store.spec.value)
    if not note:
        return ""
    return f', "note": {json_text(f"{note}; start the server with --topology MODULE:NAME")}'


def _event(news: News[str]) -> Event:
    """Return the server-sent event for a change."""
    batch = news.pinned.batch
    version = f'{{"version": {"null" if batch is None else batch}'
    rows = "" if news.rows is None else f', "rows": {news.rows}'
    return Event(news.pinned.tag, f"{version}{rows}}}")


def _check_fields(body: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in body:
        if name not in known:
            raise Problem(
                400, f"unknown field {repr_of(name, 40)}; known fields: {', '.join(known)}"
            )


def _key_rows(reads: StoreReads[Any]) -> Callable[[list[Row]], tuple[str, int]]:
    """Return a function that converts the rows of a key to JSON text."""
    text = RowText.of_key(reads.spec, key_serde(reads))

    def made(rows: list[Row]) -> tuple[str, int]:
        content = json_text([text.row(row, key=False) for row in rows])
        return content, bytes_of(content)

    return made


def _page_rows(reads: StoreReads[Any]) -> Make[str]:
    """Return a function that converts a row to JSON text."""
    return RowText(reads.spec, key_serde(reads), columns_of(reads)).sized_text


def _is_known(request: Request, tag: str) -> bool:
    """Return whether the request's `If-None-Match` header contains this tag."""
    given = request.headers.get("if-none-match", "")
    return any(each.strip().removeprefix("W/") in (tag, "*") for each in given.split(","))
