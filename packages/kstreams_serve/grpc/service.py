"""The gRPC methods: they run the queries of the HTTP routes, and reply with messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from functools import partial

from grpc_health.v1 import health_pb2 as health

from kstreams.quoting import repr_of
from kstreams_admin.flat_rows import row_key
from kstreams_serve.changes import Changes
from kstreams_serve.context import Context
from kstreams_serve.grpc import state_pb2 as pb
from kstreams_serve.grpc.calls import Call
from kstreams_serve.grpc.messages import (
    as_of,
    committed,
    key,
    key_rows,
    page_rows,
    parameters,
)
from kstreams_serve.problems import Problem
from kstreams_serve.queries import Queries, Wanted
from kstreams_serve.roles import Role
from kstreams_serve.row_query import RowQuery

__all__ = ("STATE", "Service")

STATE = "kstreams.state.v1.State"
"""Full name of the service."""

_DEFAULT_ROWS = 100
_PULSE_SECONDS = 15.0


class Service:
    """The methods of `state.proto`, and the health of the server.

    Args:
        context: The shared context of HTTP and gRPC.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._limits = context.limits
        self._queries = Queries(context)

    def calls(self) -> Sequence[Call]:
        """Return the gRPC methods."""
        data, check = Role.DATA, health.HealthCheckRequest
        return (
            Call(STATE, "List", Role.VIEW, pb.ListRequest, self.list),
            Call(STATE, "Read", data, pb.ReadRequest, self.read),
            Call(STATE, "Rows", data, pb.RowsRequest, self.rows),
            Call(STATE, "Follow", data, pb.FollowRequest, self.follow, is_stream=True),
            Call("grpc.health.v1.Health", "Check", Role.OPEN, check, self.check),
        )

    async def list(self, _: pb.ListRequest) -> pb.ListReply:
        """List apps and stores."""
        reply = pb.ListReply()
        for name, app in self._context.apps.items():
            schemas = await asyncio.to_thread(app.schemas)
            found = reply.apps.add(name=name)
            for store, (_group, schema) in sorted(schemas.items()):
                found.stores.add(
                    name=store,
                    kind=schema["kind"],
                    key_serde=schema["key"],
                    value_serde=schema["value"],
                )
        return reply

    async def read(self, request: pb.ReadRequest) -> pb.ReadReply:
        """Read keys of stores of one query, at one version."""
        if not 0 < len(request.wanted) <= self._limits.keys:
            raise Problem(
                400, f"wanted has {len(request.wanted)} keys; expected 1 to {self._limits.keys}"
            )
        app = self._context.app(request.app)
        wanted = []
        for each in request.wanted:
            store = await app.store(each.store)
            start = each.from_ms if each.HasField("from_ms") else None
            end = each.to_ms if each.HasField("to_ms") else None
            found = key(each.key, store.spec.key, self._limits.key_bytes)
            wanted.append(Wanted(store, found, (start, end)))
        make = partial(key_rows, as_json=request.json)
        answered = await self._queries.keys(app, wanted, as_of(request.version), make)
        return pb.ReadReply(
            version=committed(answered.pinned),
            found=[pb.ReadReply.Found(rows=rows) for rows in answered.rows],
        )

    async def rows(self, request: pb.RowsRequest) -> pb.RowsReply:
        """Read a page of rows."""
        limit = request.limit or _DEFAULT_ROWS
        if not 1 <= limit <= self._limits.rows:
            raise Problem(400, f"limit is {limit}; expected 1 to {self._limits.rows}")
        app = self._context.app(request.app)
        store = await app.store(request.store)
        query = RowQuery.of(
            parameters(request, row_key(store.spec), self._limits.key_bytes),
            self._context.cursors,
            (app.name, store.spec.name),
            self._limits.key_bytes,
        )
        make = partial(page_rows, as_json=request.json)
        page = await self._queries.page(app, store, query, limit, make)
        return pb.RowsReply(
            version=committed(page.pinned), rows=page.rows, cursor=page.cursor or ""
        )

    async def follow(self, request: pb.FollowRequest) -> AsyncIterator[pb.FollowReply]:
        """Yield a reply for each change of a key or, without a key, of a store."""
        app = self._context.app(request.app)
        store = await app.store(request.store)
        wanted = None
        if request.HasField("key"):
            found = key(request.key, store.spec.key, self._limits.key_bytes)
            wanted = Wanted(store, found)
        make = partial(key_rows, as_json=request.json)
        changes = Changes(self._queries, app, store, wanted, make, request.seen or None)
        loop = asyncio.get_running_loop()
        until = loop.time() + self._limits.stream_seconds
        self._context.streams.enter()
        try:
            while (left := until - loop.time()) > 0:
                change = app.change()
                news = await changes.look()
                if news is not None:
                    yield pb.FollowReply(version=committed(news.pinned), rows=news.rows)
                await _either(change, min(left, _PULSE_SECONDS))
        finally:
            self._context.streams.leave()

    async def check(self, request: health.HealthCheckRequest) -> health.HealthCheckResponse:
        """Report that the server runs, as `/health/live` does."""
        if request.service not in ("", STATE):
            raise Problem(
                404, f"unknown service {repr_of(request.service, 80)}; expected {STATE!r} or none"
            )
        return health.HealthCheckResponse(status=health.HealthCheckResponse.SERVING)


async def _either(change: asyncio.Event, seconds: float) -> None:
    """Wait until the event is set, but at most this number of seconds."""
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(change.wait(), seconds)
