"""A gRPC server in the event loop of the HTTP server, with its tokens, limits and certificate."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import grpc

from kstreams_serve.context import Context
from kstreams_serve.grpc.calls import handlers_of
from kstreams_serve.grpc.service import Service
from kstreams_serve.settings import Listening, ServeError

__all__ = ("grpc_protocol",)

_CALLS = 100  # of one connection at once
_GRACE_SECONDS = 1.0
_IDLE_MS = 10 * 60 * 1000
_PROBE_MS = 60 * 1000  # a client that is gone holds no connection for longer


def grpc_protocol(
    settings: Listening, port: int, told: Callable[[int], object]
) -> Callable[[Context], AbstractAsyncContextManager[None]]:
    """Return a function that runs gRPC for as long as a `Server` runs.

    Args:
        settings: The settings of the server: gRPC uses the same address and certificate.
        port: The port; 0 uses a free one.
        told: A function that is called with the port when gRPC is ready.

    Raises:
        ServeError: At the start: the address is not available, or the certificate is invalid.
    """

    @asynccontextmanager
    async def serving(context: Context) -> AsyncIterator[None]:
        limits = settings.limits
        server = grpc.aio.server(
            handlers=handlers_of(Service(context).calls(), context.authenticator, settings),
            maximum_concurrent_rpcs=limits.connections,
            options=(
                ("grpc.max_receive_message_length", limits.body_bytes),
                ("grpc.max_metadata_size", limits.head_bytes),
                ("grpc.absolute_max_metadata_size", limits.head_bytes),
                ("grpc.max_concurrent_streams", _CALLS),
                ("grpc.max_allowed_incoming_connections", limits.connections),
                ("grpc.server_handshake_timeout_ms", int(1000 * limits.head_seconds)),
                ("grpc.max_connection_idle_ms", _IDLE_MS),
                ("grpc.keepalive_time_ms", _PROBE_MS),
                ("grpc.keepalive_timeout_ms", int(1000 * limits.send_seconds)),
                ("grpc.so_reuseport", 0),
            ),
        )
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        try:
            bound = _bind(server, settings, f"{host}:{port}")
        except (RuntimeError, OSError) as exc:
            raise ServeError(f"gRPC cannot listen at {host}:{port}: {exc}") from exc
        await server.start()
        told(bound)
        try:
            yield
        finally:
            await server.stop(_GRACE_SECONDS)

    return serving


def _bind(server: grpc.aio.Server, settings: Listening, address: str) -> int:
    if settings.certificate is None or settings.key_file is None:
        return server.add_insecure_port(address)
    pair = settings.key_file.read_bytes(), settings.certificate.read_bytes()
    return server.add_secure_port(address, grpc.ssl_server_credentials([pair]))
