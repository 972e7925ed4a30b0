"""Turn what user code raises into a typed error that names the node."""

from __future__ import annotations

import traceback
from types import CodeType, FrameType, FunctionType, TracebackType

from kstreams.errors import KStreamsError, ProcessingError

__all__ = ("Places", "located")


class Places:
    """Which node runs what, to find the node of an exception in its traceback.

    So nothing is tracked while all goes well.
    """

    def __init__(self) -> None:
        self._owners: dict[int, tuple[object, str]] = {}
        self._functions: dict[CodeType, list[tuple[FunctionType, str]]] = {}

    def add(self, node: str, runs: object) -> None:
        """Say that a node runs a function, or methods of an object."""
        owner = getattr(runs, "__self__", runs)
        if isinstance(owner, FunctionType):
            self._functions.setdefault(owner.__code__, []).append((owner, node))
        else:
            self._owners[id(owner)] = (owner, node)

    def node_of(self, trace: TracebackType | None) -> str | None:
        """Return the node of the innermost frame that one of the nodes runs."""
        found = None
        while trace is not None:
            found = self._node(trace.tb_frame) or found
            trace = trace.tb_next
        return found

    def _node(self, frame: FrameType) -> str | None:
        for function, node in self._functions.get(frame.f_code, ()):
            if _is_run_by(function, frame):
                return node
        return self._owners.get(id(frame.f_locals.get("self")), (None, None))[1]


def _is_run_by(function: FunctionType, frame: FrameType) -> bool:
    """Tell closures of one `def` apart by what they have closed over."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if frame.f_locals.get(name) is not cell.cell_contents:
            return False
    return True


def located(exc: Exception, places: Places, *, hint: str = "") -> KStreamsError:
    """Return a typed error for an exception that came out of a node.

    Args:
        exc: What was raised.
        places: Which node runs what.
        hint: What to do about it, for what is not a `KStreamsError` yet.
    """
    node = places.node_of(exc.__traceback__)
    if isinstance(exc, KStreamsError):
        return exc.at(node=node)
    text = "".join(traceback.format_exception(type(exc), exc, exc.__traceback__))
    error = ProcessingError(
        f"{type(exc).__name__} in a processor: {exc}",
        cause_type=f"{type(exc).__module__}.{type(exc).__qualname__}",
        cause_traceback=text,
        hint=hint,
    )
    error.__cause__ = exc
    return error.at(node=node)
