"""The server: sockets, the event loop, and the apps that it follows."""

from __future__ import annotations

import asyncio
import gc
import secrets
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

import uvicorn
from starlette.applications import Starlette

from kstreams.connection import Connection
from kstreams_serve.authentication import Authenticator
from kstreams_serve.code_runs import CodeRuns
from kstreams_serve.context import Context
from kstreams_serve.cursors import Cursors
from kstreams_serve.guard import Guard
from kstreams_serve.listening import bound, config_of, url_of
from kstreams_serve.metrics import LagWatch
from kstreams_serve.routes import actions_of, application
from kstreams_serve.served_app import AppSource, ServedApp
from kstreams_serve.settings import ServeError, ServeSettings
from kstreams_serve.streams import Streams
from kstreams_serve.topic_reads import TopicReads

__all__ = ("Server", "ServerProtocol")

ServerProtocol = Callable[[Context], AbstractAsyncContextManager[None]]
"""Returns a context in which another protocol runs as long as the server."""

_SWITCH_SECONDS = 0.0005
_SECRET_BYTES = 32


class Server:
    """Serves queries on the committed state of running and stopped apps.

    Reads run in one event loop, which is cheaper than in threads; versions are decoded in one
    thread per app. The constructor opens the socket.

    Args:
        settings: The address and the access.
        sources: The apps.
        connection: The connection of their topics, if the server measures lag and shows dead
            letters.
        protocols: Other protocols that run in the event loop as long as the server.

    Attributes:
        apps: The apps by name.
        context: The shared context of routes.
        socket: The bound socket.
        config: The uvicorn configuration.

    Raises:
        NoCheckpointError: An app has no checkpoint.
        ServeError: Two apps have the same name, or the address is not available.
    """

    def __init__(
        self,
        settings: ServeSettings,
        sources: Sequence[AppSource],
        connection: Connection | None = None,
        protocols: Sequence[ServerProtocol] = (),
    ) -> None:
        self._settings = settings
        self._protocols = protocols
        self._begun: Callable[[], object] | None = None
        self.apps: dict[str, ServedApp] = {}
        code: dict[str, tuple[str, ...]] = {}
        for source in sources:
            app = ServedApp(source, settings.poll, settings.limits)
            if app.name in self.apps:
                raise ServeError(
                    f"two of the checkpoints belong to apps with the id {app.name!r}",
                    hint="start a separate server for one of these checkpoints.",
                )
            self.apps[app.name] = app
            if source.code is not None:
                code[app.name] = source.code
        self.socket = bound(settings)
        self._lag = None if connection is None else LagWatch(connection, self.apps)
        self._topics = None if connection is None else TopicReads(connection)
        authenticator = Authenticator(settings, time.monotonic)
        self.context = Context(
            self.apps,
            settings.limits,
            authenticator,
            Cursors(secrets.token_bytes(_SECRET_BYTES)),
            Streams(settings.limits.streams),
            self._lag,
            CodeRuns(code),
            allows_actions=settings.allows_actions,
            topics=self._topics,
        )
        inner = application(actions_of(self.context), self.context.times)
        inner.router.lifespan_context = self._following
        guard = Guard(inner, settings, authenticator)
        self.config = config_of(guard, settings, lifespan="on")

    @property
    def url(self) -> str:
        """The URL of the server."""
        return url_of(self.socket, self._settings)

    @asynccontextmanager
    async def _following(self, _: Starlette) -> AsyncIterator[None]:
        for app in self.apps.values():
            app.follow()
        if self._lag is not None:
            self._lag.start()
        try:
            async with AsyncExitStack() as others:
                for protocol in self._protocols:
                    await others.enter_async_context(protocol(self.context))
                if self._begun is not None:
                    self._begun()
                yield
        finally:
            if self._lag is not None:
                await asyncio.to_thread(self._lag.close)
            if self._topics is not None:
                self._topics.close()
            for app in self.apps.values():
                await asyncio.to_thread(app.close)

    def run(self, begun: Callable[[], object] | None = None) -> None:
        """Serve until SIGINT or SIGTERM; the process must belong to this server.

        Args:
            begun: Called once, when the server and other protocols are ready.
        """
        self._begun = begun
        gc.collect()
        gc.freeze()  # a full collection of imported modules would delay all reads
        sys.setswitchinterval(_SWITCH_SECONDS)  # the thread that decodes gives way sooner
        uvicorn.Server(self.config).run(sockets=[self.socket])
