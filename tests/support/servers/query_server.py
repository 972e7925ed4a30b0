"""A server in a thread of the tests, over an app that commits without Spark."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from kstreams.checkpoint.savepoint.store_place import checkpoint_of
from kstreams.state.stores.spec import StoreSpec
from kstreams_serve.authentication import Authenticator
from kstreams_serve.context import Context
from kstreams_serve.cursors import Cursors
from kstreams_serve.roles import Role
from kstreams_serve.served_app import AppSource
from kstreams_serve.server import Server
from kstreams_serve.settings import Limits, ServeSettings
from kstreams_serve.streams import Streams

TOKEN = "a-token-of-the-tests"
VIEWER = "a-token-for-the-view"
SCRAPER = "a-token-for-the-metrics"
ACTOR = "a-token-that-may-act"
TOKENS = {TOKEN: Role.DATA, VIEWER: Role.VIEW, SCRAPER: Role.METRICS, ACTOR: Role.ACT}
ACTING: dict[str, Any] = {"allows_actions": True, "holders": {ACTOR: "anna"}}


@dataclass
class Answer:
    """A response."""

    status: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data)

    @property
    def version(self) -> int:
        return int(self.headers["kstreams-version"])


@dataclass
class Served:
    """A running server and a client of it."""

    server: Server
    port: int

    def get(self, path: str, *, token: str | None = TOKEN, **headers: str) -> Answer:
        return self.ask("GET", path, token=token, headers=headers)

    def post(self, path: str, body: object, **headers: str) -> Answer:
        named = {"content-type": "application/json", **headers}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", path, headers=named, body=data)

    def ask(
        self,
        method: str,
        path: str,
        *,
        token: str | None = TOKEN,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            given = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
            if token is not None:
                given.setdefault("Authorization", f"Bearer {token}")
            connection.request(method, path, body, given)
            found = connection.getresponse()
            named = {name.lower(): value for name, value in found.getheaders()}
            return Answer(found.status, named, found.read())
        finally:
            connection.close()

    def until(self, path: str, done: Callable[[Answer], bool]) -> Answer:
        found = self.get(path)
        for _ in range(2000):
            if done(found):
                return found
            time.sleep(0.005)
            found = self.get(path)
        raise AssertionError(f"no response of {path} met the condition; the last one: {found}")


def context_of(settings: ServeSettings | None = None) -> Context:
    """Return the context of routes for a server without apps."""
    settings = settings or ServeSettings(TOKENS)
    authenticator = Authenticator(settings, time.monotonic)
    streams = Streams(settings.limits.streams)
    return Context({}, settings.limits, authenticator, Cursors(b"secret"), streams)


@contextmanager
def serving(
    *apps: tuple[Path, StoreSpec[Any]],
    limits: Limits | None = None,
    log: Any = None,
    code: tuple[str, ...] | None = None,
    **more: Any,
) -> Iterator[Served]:
    settings = ServeSettings(TOKENS, port=0, limits=limits or Limits(), **more)
    sources = [
        AppSource(checkpoint_of(path), lambda _, __, spec=spec: spec, log, code=code)  # type: ignore[misc]
        for path, spec in apps
    ]
    server = Server(settings, sources)
    runner = uvicorn.Server(server.config)
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [server.socket]})
    thread.start()
    try:
        yield Served(server, server.socket.getsockname()[1])
    finally:
        runner.should_exit = True
        thread.join(20)
        assert not thread.is_alive()
