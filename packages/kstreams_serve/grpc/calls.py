"""The methods of the gRPC service, each with its required role."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import unquote

import grpc
from google.protobuf.message import Message

from kstreams.errors import KStreamsError
from kstreams.quoting import one_line, text_of
from kstreams_serve.authentication import Authenticator
from kstreams_serve.forwarded import TrustedProxies
from kstreams_serve.problems import Problem, status_of
from kstreams_serve.roles import Role, require
from kstreams_serve.settings import Listening

__all__ = ("Call", "handlers_of")

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_LONGEST = 2000
_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    409: grpc.StatusCode.FAILED_PRECONDITION,
    410: grpc.StatusCode.OUT_OF_RANGE,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
}


@dataclass(frozen=True)
class Call:
    """A gRPC method with its required role; like `Action` for HTTP.

    Attributes:
        service: The full name of its service.
        name: The name of the method.
        role: The required role, which is checked before the call.
        request: The class of its requests.
        run: Returns the reply to a request, or yields replies until the client disconnects.
        is_stream: Whether `run` yields replies.
    """

    service: str
    name: str
    role: Role
    request: type[Message]
    run: Callable[[Any], Any]
    is_stream: bool = False


def handlers_of(
    calls: Sequence[Call], authenticator: Authenticator, settings: Listening
) -> tuple[grpc.GenericRpcHandler, ...]:
    """Return the gRPC handlers of methods.

    Each handler is registered as taking a stream of requests, but reads only one. gRPC therefore
    calls the handler before the request has arrived, and the token is checked first.

    Args:
        calls: The methods.
        authenticator: Checks tokens.
        settings: The settings of the server.
    """
    gate = _Gate(
        authenticator, TrustedProxies(settings.forwarded_allow_ips), settings.limits.head_seconds
    )
    services: dict[str, dict[str, grpc.RpcMethodHandler[Any, Any]]] = {}
    for call in calls:
        make = (
            grpc.stream_stream_rpc_method_handler
            if call.is_stream
            else grpc.stream_unary_rpc_method_handler
        )
        answer = _streamed(call, gate) if call.is_stream else _answered(call, gate)
        services.setdefault(call.service, {})[call.name] = make(
            answer,
            request_deserializer=call.request.FromString,
            response_serializer=_bytes_of,
        )
    return tuple(
        grpc.method_handlers_generic_handler(service, methods)
        for service, methods in services.items()
    )


def _bytes_of(reply: Message) -> bytes:
    return reply.SerializeToString()


def _answered(call: Call, gate: _Gate) -> Callable[..., Awaitable[Message]]:
    async def answer(_: object, context: grpc.aio.ServicerContext[Any, Any]) -> Message:
        role = Role.OPEN
        try:
            role = gate.role_of(context)
            require(role, call.role)
            reply: Message = await call.run(await gate.request_of(context))
            return reply
        except Exception as exc:  # noqa: BLE001  # sent to the caller as a status
            return await _abort(call, role, exc, context)

    return answer


def _streamed(call: Call, gate: _Gate) -> Callable[..., AsyncIterator[Message]]:
    async def answers(
        _: object, context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[Message]:
        role = Role.OPEN
        try:
            role = gate.role_of(context)
            require(role, call.role)
            async for reply in call.run(await gate.request_of(context)):
                yield reply
        except Exception as exc:  # noqa: BLE001  # as above
            await _abort(call, role, exc, context)

    return answers


class _Gate:
    """Admits calls: it checks the token, then reads the request within a time limit.

    Args:
        authenticator: Checks tokens.
        proxies: The proxies whose `x-forwarded-for` is trusted.
        seconds: The maximum time for a request to arrive, in seconds.
    """

    def __init__(
        self, authenticator: Authenticator, proxies: TrustedProxies, seconds: float
    ) -> None:
        self._authenticator = authenticator
        self._proxies = proxies
        self._seconds = seconds

    def role_of(self, context: grpc.aio.ServicerContext[Any, Any]) -> Role:
        """Return the role of the caller's token.

        Raises:
            Problem: The token is unknown.
        """
        forwarded = _metadata(context, "x-forwarded-for")
        address = self._proxies.client_of(_address(context.peer()), forwarded)
        return self._authenticator.visitor_of(_metadata(context, "authorization"), address).role

    async def request_of(self, context: grpc.aio.ServicerContext[Any, Any]) -> Message:
        """Return the request.

        Raises:
            Problem: No request arrives, or not in time.
        """
        try:
            found = await asyncio.wait_for(context.read(), self._seconds)
        except asyncio.TimeoutError as exc:
            raise Problem(504, f"no request arrived within {self._seconds:g} s") from exc
        if not isinstance(found, Message):
            raise Problem(400, "the call has no request message")
        return found


def _metadata(context: grpc.aio.ServicerContext[Any, Any], wanted: str) -> list[str]:
    return [
        value.decode("latin-1") if isinstance(value, bytes) else value
        for name, value in context.invocation_metadata() or ()
        if name == wanted
    ]


def _address(peer: str) -> str:
    """Return the address in `ipv4:1.2.3.4:567` or `ipv6:%5B::1%5D:567`, without the port."""
    return unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")


async def _abort(
    call: Call, role: Role, exc: Exception, context: grpc.aio.ServicerContext[Any, Any]
) -> NoReturn:
    """End a call with the status of its problem."""
    if isinstance(exc, Problem):
        text = exc.detail
    elif isinstance(exc, KStreamsError):
        told = text_of(exc.message) if role >= Role.DATA else "the call failed"
        text = f"{type(exc).__name__}: {told}"
    else:
        _LOG.error("%s/%s failed", call.service, call.name, exc_info=exc)
        await context.abort(
            grpc.StatusCode.INTERNAL, "the call failed; the server's log has the reason"
        )
    problem: Problem | KStreamsError = exc
    code = _CODES.get(status_of(problem), grpc.StatusCode.INTERNAL)
    await context.abort(code, one_line(text, _LONGEST))
