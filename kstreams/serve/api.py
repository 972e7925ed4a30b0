"""The actions: what is answered to whom, by the routes of `routes.py`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kstreams.errors import StoreError
from kstreams.serde.values import exact
from kstreams.serve.as_of import as_of_in, committed_at
from kstreams.serve.exposition import OPENMETRICS, PROMETHEUS, exposition
from kstreams.serve.metrics import LagWatch, Metrics
from kstreams.serve.pages import Cursors, RowText, take_page
from kstreams.serve.parameters import Parameters, base64_bytes, json_body, key_of
from kstreams.serve.pinned_reader import PinnedReader
from kstreams.serve.problems import Problem
from kstreams.serve.row_query import RowQuery
from kstreams.serve.served_app import ServedApp, ServedStore
from kstreams.serve.settings import Limits
from kstreams.serve.streams import EventStream, Streams
from kstreams.state.backend.working import Pair, WorkingStore
from kstreams.state.cache.times import FixedTimes
from kstreams.state.stores.kind import Times
from kstreams.views.flat_rows import columns_of, key_serde, rows_of_key
from kstreams.views.reader import Reader
from kstreams.views.store_reads import StoreReads
from kstreams.views.wire import Found, encode_found

__all__ = ("Api",)

_MOST_MS = 2**63 - 1
_DEFAULT_ROWS = 100


class Api:
    """What can be asked of the apps of a server.

    Args:
        apps: By name.
        limits: Of the server.
        secret: For cursors.
        lag: Knows how far apps are behind, if somebody asks the topics.
    """

    def __init__(
        self,
        apps: Mapping[str, ServedApp],
        limits: Limits,
        secret: bytes,
        lag: LagWatch | None = None,
    ) -> None:
        self._apps = apps
        self._metrics = Metrics(apps, lag)
        self._limits = limits
        self._cursors = Cursors(secret)
        self._streams = Streams(limits.streams)

    # ------------------------------------------------------------ what there is

    async def live(self, _: Request) -> Response:
        """Say that the server runs."""
        return _json({"live": True})

    async def ready(self, _: Request) -> Response:
        """Say whether each app's checkpoint can be read."""
        for app in self._apps.values():
            app.schemas()
        return _json({"ready": True})

    async def metrics(self, request: Request) -> Response:
        """Say what the last commits of all apps count, for Prometheus; no key is in it."""
        wanted = "application/openmetrics-text" in request.headers.get("accept", "")
        families = await asyncio.to_thread(lambda: list(self._metrics.families()))
        text = exposition(families, openmetrics=wanted)
        kind = OPENMETRICS if wanted else PROMETHEUS
        return Response(text.encode(), headers={"Content-Type": kind})

    async def apps(self, _: Request) -> Response:
        """List the apps."""
        return _json({"apps": [{"app": name} for name in self._apps]})

    async def app(self, request: Request) -> Response:
        """Describe an app: its stores, savepoints and queries."""
        app = self._app(request)
        checkpoint = app.checkpoint
        stores = [
            {
                "store": name,
                **dict(schema),
                "group": group,
                "query": checkpoint.query_of_group(group),
                "partitions": checkpoint.tasks[group],
            }
            for name, (group, schema) in sorted(app.schemas().items())
        ]
        return _json({"app": app.name, "stores": stores, "savepoints": app.savepoints()})

    async def store(self, request: Request) -> Response:
        """Describe a store: kind, serdes, routing, and the versions that are retained."""
        app, store = self._store(request)
        reader = store.newest
        return _json(
            {
                "app": app.name,
                "store": store.spec.name,
                "schema": store.spec.schema(),
                "partitions": reader.partitions,
                "routing": reader.place.routing(),
                "life": _life(reader),
                "version": reader.version,
                "committed_at": committed_at(reader.wall_ms),
                "wall_ms": reader.wall_ms,
                "versions": app.batches(store.spec.name),
            }
        )

    # ------------------------------------------------------------ reads

    async def key(self, request: Request) -> Response:
        """Read one key: its value, or its windows, sessions, versions, list elements."""
        given = Parameters(
            request.scope["query_string"],
            ("key", "key_format", "from", "to", "as_of", "min_version"),
        )
        app, store = self._store(request)
        key = self._key(store, given.required("key"), given.text("key_format") or "text")
        times = (given.whole("from", -_MOST_MS, _MOST_MS), given.whole("to", -_MOST_MS, _MOST_MS))
        await self._wait(app, store, given)
        reader, batch = await store.reader_at(as_of_in(given), store.newest.partitions_of(key))
        tag = f'"{batch}"'
        if batch is not None and request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"ETag": tag})
        rows = self._rows_of_key(store, reader, batch, key, times)
        if not rows:
            raise Problem(404, "there is no such key", headers=_version(reader, batch))
        return _json(
            {"key": exact(key, store.spec.key), "rows": rows},
            {"ETag": tag, **_version(reader, batch)},
        )

    async def rows(self, request: Request) -> Response:
        """Read a page of rows, in the store's order: all, a range of keys, or a prefix."""
        given = Parameters(
            request.scope["query_string"],
            (
                "start",
                "end",
                "prefix",
                "reverse",
                "key_format",
                "as_of",
                "min_version",
                "limit",
                "cursor",
            ),
        )
        app, store = self._store(request)
        limit = given.whole("limit", 1, self._limits.rows) or _DEFAULT_ROWS
        query = RowQuery.of(given, self._cursors, app.name, store.spec, self._limits.key_bytes)
        await self._wait(app, store, given)
        try:
            reader, batch = await store.reader_at(query.as_of)
        except StoreError as exc:
            if query.is_next and type(exc) is StoreError:
                raise Problem(
                    410,
                    "the version of this cursor is gone; begin with the first page again",
                    hint="App(retained_batches=...) keeps versions for longer.",
                ) from exc
            raise
        reads = _reads(store, reader, batch)
        text = RowText(store.spec, key_serde(reads), columns_of(reads))
        keys = query.noting(reads)
        page = await take_page(keys, text, query.skip, limit, self._limits)
        after = None if page.ended else query.after(page, batch)
        cursor = None if after is None else self._cursors.make(after)
        body = f'{{"rows": [{", ".join(page.rows)}], "cursor": {json.dumps(cursor)}}}'
        return _answer(body, _version(reader, batch))

    async def multi(self, request: Request) -> Response:
        """Read many keys of one store, all at one version."""
        body = await self._body(request, ("keys", "key_format", "as_of"))
        app, store = self._store(request)
        form = body.get("key_format", "text")
        keys = [self._key(store, key, form) for key in self._list(body, "keys")]
        reader, batch = await store.reader_at(as_of_in(body))
        found = [
            {"key": given, "rows": self._rows_of_key(store, reader, batch, key, (None, None))}
            for given, key in zip(body["keys"], keys, strict=True)
        ]
        return _json({"app": app.name, "found": found}, _version(reader, batch))

    async def read(self, request: Request) -> Response:
        """Read keys of several stores of one query, all at one version."""
        body = await self._body(request, ("reads",))
        app = self._app(request)
        wanted: list[tuple[ServedStore, object, object]] = []
        for each in self._list(body, "reads"):
            if not isinstance(each, dict) or not isinstance(each.get("store"), str):
                raise Problem(400, "each of reads is an object with store and key")
            store = app.store(each["store"])
            key = self._key(store, each.get("key"), each.get("key_format", "text"))
            wanted.append((store, each, key))
        stores = {store.spec.name: store for store, _, _ in wanted}
        if len({store.newest.place.query for store in stores.values()}) > 1:
            raise Problem(400, "stores of several queries have no version in common")
        batch = await self._common(list(stores.values()))
        found = []
        for store, each, key in wanted:
            rows = self._rows_of_key(store, store.newest, batch, key, (None, None))
            found.append({"store": store.spec.name, "key": each["key"], "rows": rows})  # type: ignore[index]  # checked above
        reader = next(iter(stores.values())).newest
        return _json({"found": found}, _version(reader, batch))

    async def stored(self, request: Request) -> Response:
        """Read encoded rows of one partition, for clients that decode them themselves."""
        body = await self._body(
            request, ("version", "life", "partition", "keys", "start", "end", "reverse", "limit")
        )
        _, store = self._store(request)
        if "life" in body and body["life"] != _life(store.newest):
            raise Problem(412, "the app was reset or upgraded: look at the store again")
        partition = body.get("partition")
        if not isinstance(partition, int) or partition not in range(store.newest.partitions):
            raise Problem(400, f"partition is one of 0 to {store.newest.partitions - 1}")
        reader, batch = await store.reader_at(as_of_in(body, "version"), (partition,))
        look = self._scanned(body) if "keys" not in body else self._fetched(body)
        name = store.spec.name

        def found(rows: WorkingStore, times: FixedTimes) -> Found:
            pairs, ended = look(name, rows)
            return Found(batch, times.wall_time, times.stream_time, ended, tuple(pairs))

        data = encode_found(reader.read_stored(partition, found, at=batch))
        return Response(data, headers=_version(reader, batch), media_type=_BYTES)

    async def follow(self, request: Request) -> EventStream:
        """Send an event for each new version: a key's rows when they change, or the version."""
        given = Parameters(request.scope["query_string"], ("key", "key_format"))
        app, store = self._store(request)
        text = given.text("key")
        form = given.text("key_format") or "text"
        key = None if text is None else self._key(store, text, form)
        seen: list[object] = []
        last = request.headers.get("last-event-id")
        await store.reader_at(None)

        def look() -> tuple[int | None, object] | None:
            reader = store.newest
            version = reader.version
            content: dict[str, object] = {"version": version}
            if text is not None:
                content["rows"] = self._rows_of_key(store, reader, version, key, (None, None))
            state = content.get("rows", version)
            if not seen and last is not None and last == str(version):
                seen.append(state)
            if seen == [state]:
                return None
            seen[:] = [state]
            return version, content

        return EventStream(self._streams, self._limits, look, app.moved)

    # ------------------------------------------------------------ parts

    def _fetched(self, body: Mapping[str, Any]) -> _Look:
        keys = [self._bytes(key) for key in self._list(body, "keys")]
        return lambda name, rows: (list(zip(keys, rows.multi_get(name, keys), strict=True)), True)

    def _scanned(self, body: Mapping[str, Any]) -> _Look:
        start, end = (
            None if body.get(name) is None else self._bytes(body[name]) for name in ("start", "end")
        )
        reverse, limit = body.get("reverse", False), body.get("limit", self._limits.rows)
        if not isinstance(reverse, bool) or not isinstance(limit, int) or limit < 1:
            raise Problem(400, "reverse is true or false, and limit at least 1")

        def look(name: str, rows: WorkingStore) -> tuple[list[Pair], bool]:
            found: list[Pair] = []
            size = 0
            scan = rows.scan(name, start, end, reverse=reverse)
            for key, value in islice(scan, min(limit, self._limits.rows)):
                found.append((key, value))
                size += len(key) + len(value)
                if size >= self._limits.answer_bytes:
                    break
            return found, next(scan, None) is None

        return look

    def _bytes(self, given: object) -> bytes:
        if not isinstance(given, str) or len(given) > 2 * self._limits.key_bytes:
            raise Problem(400, "a key is its bytes in base64, and not too long")
        try:
            return base64_bytes(given)
        except ValueError as exc:
            raise Problem(400, "a key is its bytes in base64") from exc

    def _app(self, request: Request) -> ServedApp:
        found = self._apps.get(request.path_params["app"])
        if found is None:
            raise Problem(404, "there is no app of this name here")
        return found

    def _store(self, request: Request) -> tuple[ServedApp, ServedStore]:
        app = self._app(request)
        return app, app.store(request.path_params["store"])

    def _key(self, store: ServedStore, given: object, form: object) -> object:
        form = form if isinstance(form, str) else "no text"
        return key_of(store.spec.key, given, form, self._limits.key_bytes)

    def _list(self, body: Mapping[str, Any], name: str) -> list[Any]:
        found = body.get(name)
        if not isinstance(found, list) or not 0 < len(found) <= self._limits.keys:
            raise Problem(400, f"{name} is a list of 1 to {self._limits.keys}")
        return found

    async def _body(self, request: Request, known: Sequence[str]) -> Mapping[str, Any]:
        try:
            work = json_body(request, self._limits.body_bytes)
            body = await asyncio.wait_for(work, self._limits.head_seconds)
        except asyncio.TimeoutError as exc:
            raise Problem(408, "the body did not come in time") from exc
        for name in body:
            if name not in known:
                raise Problem(400, f"unknown field; known are {', '.join(known)}")
        return body

    async def _wait(self, app: ServedApp, store: ServedStore, given: Parameters) -> None:
        """Wait until the newest version is as new as is asked for."""
        least = given.whole("min_version", 0, _MOST_MS)
        if least is None:
            return
        loop = asyncio.get_running_loop()
        until = loop.time() + self._limits.wait_seconds
        while (store.newest.version is None or store.newest.version < least) and (
            (left := until - loop.time()) <= 0 or not await app.moved(left)
        ):
            raise Problem(504, f"version {least} has not been committed in time")

    async def _common(self, stores: Sequence[ServedStore]) -> int | None:
        """Return the newest version that all stores have at hand, with all partitions."""
        for store in stores:
            await store.reader_at(None)
        versions = [store.newest.version for store in stores]
        known = [version for version in versions if version is not None]
        batch = min(known) if len(known) == len(versions) else None
        for store in stores:
            if batch is None or not store.newest.has(batch):
                continue
            if not store.newest.ready(range(store.newest.partitions), at=batch):
                raise Problem(503, "the stores move apart", headers={"Retry-After": "1"})
        return batch

    def _rows_of_key(
        self, store: ServedStore, reader: Reader[Any], batch: int | None, key: object, times: Times
    ) -> list[dict[str, object]]:
        reads = _reads(store, reader, batch)
        text = RowText(store.spec, key_serde(reads), store.spec.kind.columns)
        rows = rows_of_key(reads, key, times)
        found = [text.row(row, key=False) for row in islice(rows, self._limits.rows + 1)]
        if len(found) > self._limits.rows:
            raise Problem(413, f"the key has more than {self._limits.rows} rows: choose times")
        return found


_BYTES = "application/octet-stream"
_Look = Callable[[str, WorkingStore], "tuple[list[Pair], bool]"]


def _reads(store: ServedStore, reader: Reader[Any], batch: int | None) -> StoreReads[Any]:
    return StoreReads(store.spec, PinnedReader(reader, batch))


def _life(reader: Reader[Any]) -> str:
    """Return what names the line of versions that a store has, until its app begins again."""
    return str(reader.place.life)


def _version(reader: Reader[Any], batch: int | None) -> dict[str, str]:
    found = {"Kstreams-Version": "none" if batch is None else str(batch)}
    if batch == reader.version and reader.wall_ms is not None:
        found["Kstreams-Committed-At"] = committed_at(reader.wall_ms) or ""
    return found


def _json(content: object, headers: Mapping[str, str] | None = None) -> Response:
    return _answer(json.dumps(content, ensure_ascii=False), headers)


def _answer(text: str, headers: Mapping[str, str] | None = None) -> Response:
    data = text.encode("utf-8", "surrogatepass")
    return Response(data, headers=dict(headers or {}), media_type="application/json")
