"""Interceptors: code of the user's around each call of `process`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from kstreams.errors import ProcessingError, TopologyError, Where
from kstreams.ids import TaskId
from kstreams.record import Record

__all__ = ("Interceptor", "checked_call", "checked_interceptors")

_Call = TypeVar("_Call", bound=Callable[..., Any])
"""A function of records or of tables of records."""


class Interceptor(Protocol):
    """Wraps `process` of every record processor: for tracing, timing, logging.

    Must be picklable. The first one of a list is the outermost. A join that one record reaches
    by both inputs is called once all of it is there: for each record in turn, the left ones
    first, and joins within the last call.
    """

    def bind(
        self, node: str, task: TaskId, process: Callable[[Record[object, object]], None]
    ) -> Callable[[Record[object, object]], None]:
        """Return the replacement of `process`; called once for each node and batch."""
        ...


def checked_call(interceptor: object, node: str, made: _Call) -> _Call:
    """Return the function that an interceptor returned for a node.

    Raises:
        ProcessingError: The interceptor did not return a function. The message has its class and
            the node.
    """
    if callable(made):
        return made
    raise ProcessingError(
        f"interceptor {type(interceptor).__qualname__} returned {made!r} for node {node!r}, "
        "expected a function",
        hint="return the given process, or a function that calls it.",
        where=Where(node=node),
    )


def checked_interceptors(given: Iterable[Interceptor]) -> tuple[Interceptor, ...]:
    """Return interceptors, each of which has a method `bind`.

    Raises:
        TopologyError: One has none; names its class.
    """
    found = tuple(given)
    for each in found:
        if isinstance(each, type) or not callable(getattr(each, "bind", None)):
            name = each.__qualname__ if isinstance(each, type) else type(each).__qualname__
            raise TopologyError(
                f"interceptor {name} has no method bind"
                if not isinstance(each, type)
                else f"interceptor {name} is a class, not an object",
                hint="pass objects with bind(node, task, process); see "
                "kstreams.processors.Interceptor.",
            )
    return found
