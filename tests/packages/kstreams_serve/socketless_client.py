"""A server without a socket: requests of a client go directly to its application."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from kstreams.checkpoint.savepoint.store_place import checkpoint_of
from kstreams.state.stores.spec import StoreSpec
from kstreams_serve.served_app import AppSource
from kstreams_serve.server import Server
from kstreams_serve.settings import Limits, ServeSettings
from tests.support.servers.query_server import TOKEN, TOKENS, Answer


class Asked:
    """A server, and one client after another."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def __call__(
        self,
        path: str,
        *,
        method: str = "GET",
        token: str | None = TOKEN,
        headers: Mapping[str, str] | None = None,
        body: object = None,
        address: str = "127.0.0.1",
    ) -> Answer:
        given = {"host": "127.0.0.1", **{n.lower(): v for n, v in (headers or {}).items()}}
        if token is not None:
            given.setdefault("authorization", f"Bearer {token}")
        data = b""
        if body is not None:
            method = "POST"
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            given.setdefault("content-type", "application/json")
        plain, _, query = path.partition("?")
        scope = {
            "type": "http", "method": method, "path": unquote(plain), "root_path": "",
            "raw_path": plain.encode(), "query_string": query.encode("latin-1"),
            "headers": [(n.encode(), v.encode("latin-1")) for n, v in given.items()],
            "client": (address, 5), "scheme": "http", "http_version": "1.1",
        }  # fmt: skip
        return asyncio.run(self._ask(scope, data))

    async def _ask(self, scope: dict[str, Any], data: bytes) -> Answer:
        sent: list[dict[str, Any]] = []
        answered = asyncio.Event()
        first = [{"type": "http.request", "body": data, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if first:
                return first.pop()
            await answered.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)
            if message["type"] == "http.response.body":
                answered.set()  # the follower leaves after the first event

        app: Any = self.server.config.app
        await asyncio.wait_for(app(scope, receive, send), 20)
        headers = {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], headers, b"".join(m["body"] for m in sent[1:]))


@contextmanager
def asked(
    *apps: tuple[Path, StoreSpec[Any]], settings: Mapping[str, Any] | None = None, **limits: Any
) -> Iterator[Asked]:
    given = {"port": 0, "limits": replace(Limits(), **limits), **(settings or {})}
    made = ServeSettings(TOKENS, **given)
    sources = [
        AppSource(checkpoint_of(path), lambda _, __, spec=spec: spec)  # type: ignore[misc]
        for path, spec in apps
    ]
    with asked_of(Server(made, sources)) as found:
        yield found


@contextmanager
def asked_of(server: Server) -> Iterator[Asked]:
    try:
        yield Asked(server)
    finally:
        server.socket.close()
        for app in server.apps.values():
            app.close()
