"""Interceptors: user code around each call of `process`."""

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
    """Wraps `process` of every record processor, for tracing, timing or logging.

    Must be picklable. The first interceptor of a list is the outermost. If one record reaches both
    inputs of a join, the join is called after all resulting records have arrived: once for each of
    them, left records first; the join itself runs within the last call.
    """

    def bind(
        self, node: str, task: TaskId, process: Callable[[Record[object, object]], None]
    ) -> Callable[[Record[object, object]], None]:
        """Return a wrapper of `process`; called once for each node and batch."""
        ...


def checked_call(interceptor: object, node: str, made: _Call) -> _Call:
    """Check that an interceptor's result for a node is a function, and return it.

    Raises:
        ProcessingError: The interceptor did not return a function. The message names the
            interceptor's class and the node.
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
    """Check that each interceptor has a method `bind`, and return the interceptors.

    Raises:
        TopologyError: An interceptor has no method `bind`, or is a class; the error names the
            class.
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
