"""The calls of the service: each with the role that it needs."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import unquote

import grpc
from google.protobuf.message import Message

from kstreams.errors import KStreamsError
from kstreams.quoting import one_line, text_of
from kstreams.serve.doors import Doors
from kstreams.serve.problems import Problem, status_of
from kstreams.serve.roles import Role, require

__all__ = ("Call", "handlers_of")

_LOG = logging.getLogger(__name__)
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
    """One thing that can be asked; as `Action` is for HTTP, there is no other way to add one.

    Attributes:
        service: Full name of its service.
        name: Of the method.
        role: What it needs; checked before it runs.
        request: Class of its requests.
        run: Answers one request, or yields answers to it, for as long as the client stays.
        is_stream: Whether it yields.
    """

    service: str
    name: str
    role: Role
    request: type[Message]
    run: Callable[[Any], Any]
    is_stream: bool = False


def handlers_of(calls: Sequence[Call], doors: Doors) -> tuple[grpc.GenericRpcHandler, ...]:
    """Return what answers the calls.

    Args:
        calls: All of them.
        doors: Knows the tokens.
    """
    services: dict[str, dict[str, grpc.RpcMethodHandler[Any, Any]]] = {}
    for call in calls:
        make = (
            grpc.unary_stream_rpc_method_handler
            if call.is_stream
            else grpc.unary_unary_rpc_method_handler
        )
        answer = _streamed(call, doors) if call.is_stream else _answered(call, doors)
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


def _answered(call: Call, doors: Doors) -> Callable[..., Awaitable[Message]]:
    async def answer(request: Message, context: grpc.aio.ServicerContext[Any, Any]) -> Message:
        role = Role.OPEN
        try:
            role = _role(doors, context)
            require(role, call.role)
            reply: Message = await call.run(request)
            return reply
        except Exception as exc:  # noqa: BLE001  # the caller is told, by its kind
            return await _abort(call, role, exc, context)

    return answer


def _streamed(call: Call, doors: Doors) -> Callable[..., AsyncIterator[Message]]:
    async def answers(
        request: Message, context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[Message]:
        role = Role.OPEN
        try:
            role = _role(doors, context)
            require(role, call.role)
            async for reply in call.run(request):
                yield reply
        except Exception as exc:  # noqa: BLE001  # as above
            await _abort(call, role, exc, context)

    return answers


def _role(doors: Doors, context: grpc.aio.ServicerContext[Any, Any]) -> Role:
    given = [
        value.decode("latin-1") if isinstance(value, bytes) else value
        for name, value in context.invocation_metadata() or ()
        if name == "authorization"
    ]
    return doors.visitor_of(given, _address(context.peer())).role


def _address(peer: str) -> str:
    """Return who is at the other end of `ipv4:1.2.3.4:567` or `ipv6:%5B::1%5D:567`."""
    return unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")


async def _abort(
    call: Call, role: Role, exc: Exception, context: grpc.aio.ServicerContext[Any, Any]
) -> NoReturn:
    """End a call with what its problem is."""
    if isinstance(exc, Problem):
        text = exc.detail
    elif isinstance(exc, KStreamsError):
        told = text_of(exc.message) if role >= Role.DATA else "this failed"
        text = f"{type(exc).__name__}: {told}"
    else:
        _LOG.error("%s/%s failed", call.service, call.name, exc_info=exc)
        await context.abort(grpc.StatusCode.INTERNAL, "this failed; the server's log says why")
    problem: Problem | KStreamsError = exc
    code = _CODES.get(status_of(problem), grpc.StatusCode.INTERNAL)
    await context.abort(code, one_line(text, _LONGEST))
