"""Sockets and uvicorn settings of a server that limits the resources of its clients."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import Literal

import uvicorn
from starlette.types import ASGIApp

from kstreams_serve.protocol import protocol_of
from kstreams_serve.settings import Listening, ServeError

__all__ = ("bound", "config_of", "url_of")

_BACKLOG = 512


def bound(settings: Listening) -> socket.socket:
    """Return a socket that listens on the address of the settings.

    Raises:
        ServeError: The address is not available.
    """
    host, port = settings.host, settings.port
    with ExitStack() as failed:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            made = failed.enter_context(socket.socket(family, kind, protocol))
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen(_BACKLOG)
        except OSError as exc:
            raise ServeError(f"the server cannot listen at {host}:{port}: {exc}") from exc
        failed.pop_all()
    return made


def url_of(listener: socket.socket, settings: Listening) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    scheme = "http" if settings.certificate is None else "https"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def config_of(
    app: ASGIApp, settings: Listening, *, lifespan: Literal["on", "off"]
) -> uvicorn.Config:
    """Return the uvicorn configuration of an application with limits.

    Args:
        app: The application, with its guard.
        settings: The settings of the server.
        lifespan: Whether the application gets start and stop events.
    """
    return uvicorn.Config(
        app,
        http=protocol_of(settings.limits),
        ws="none",
        loop="asyncio",
        lifespan=lifespan,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=settings.limits.connections
        + 1,  # requests: the protocol counts connections
        timeout_graceful_shutdown=1,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key_file,
    )
