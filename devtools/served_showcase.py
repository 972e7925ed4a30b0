"""A server for the showcase in a thread, for screenshots and for measurements of page loads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from devtools.showcase import Showcase
from kstreams.checkpoint.savepoint.store_place import checkpoint_of
from kstreams_serve.roles import Role
from kstreams_serve.served_app import AppSource
from kstreams_serve.server import Server
from kstreams_serve.settings import ServeSettings

__all__ = ("served_showcase",)


@contextmanager
def served_showcase(app: Showcase, token: str) -> Iterator[Server]:
    """Serve an app at a free port, for clients with the token."""
    source = AppSource(checkpoint_of(app.path), lambda _, name: app.specs[name], code=())
    server = Server(ServeSettings({token: Role.DATA}, port=0), [source], app.connection)
    runner = uvicorn.Server(server.config)
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [server.socket]})
    thread.start()
    try:
        yield server
    finally:
        runner.should_exit = True
        thread.join()
