"""Convert exceptions of user code to typed errors that name the node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import CodeType, FrameType, FunctionType, TracebackType

from kstreams.errors import (
    DeserializationError,
    KStreamsError,
    LimitError,
    ProcessingError,
    Where,
)
from kstreams.graph.nodes import Entry
from kstreams.quoting import repr_of
from kstreams.task.records.decoding import placed
from kstreams.task.records.queues import Queue, merged_order

__all__ = ("Places", "located", "of_record", "of_result")

_BY_ITSELF = 300


class Places:
    """The functions of nodes, to find the node of an exception in its traceback.

    The current node therefore needs no tracking while no exception occurs.

    Args:
        call_frames: The number of frames that are reserved for nodes that call each other.
    """

    def __init__(self, call_frames: int = 0) -> None:
        self._call_frames = call_frames
        self._owners: dict[int, tuple[object, str]] = {}
        self._functions: dict[CodeType, list[tuple[FunctionType, str]]] = {}

    def add(self, node: str, runs: object) -> None:
        """Register a function, or an object with methods, that a node runs."""
        owner = getattr(runs, "__self__", runs)
        if isinstance(owner, FunctionType):
            self._functions.setdefault(owner.__code__, []).append((owner, node))
        else:
            self._owners[id(owner)] = (owner, node)

    def node_of(self, trace: TracebackType | None) -> str | None:
        """Return the node of the innermost frame of a traceback that belongs to a node, or None."""
        found = None
        while trace is not None:
            found = self._node(trace.tb_frame) or found
            trace = trace.tb_next
        return found

    def node_running(self, frame: FrameType | None) -> str | None:
        """Return the node that a thread runs, given its innermost frame; None outside of nodes."""
        while frame is not None:
            found = self._node(frame)
            if found is not None:
                return found
            frame = frame.f_back
        return None

    def is_chains(self, exc: RecursionError) -> bool:
        """Return whether the chain of nodes, not a single node, ran out of stack.

        A single node runs out of stack if it processes its record with more frames than most
        programs use, such as for a deeply nested document, or with frames that are invisible (in
        C).
        """
        frames = most = own = 0
        last = None
        trace = exc.__traceback__
        while trace is not None:
            node = self._node(trace.tb_frame) or last
            own = own + 1 if node == last else 1
            frames, most, last = frames + 1, max(most, own), node
            trace = trace.tb_next
        return frames > self._call_frames and most < _BY_ITSELF

    def _node(self, frame: FrameType) -> str | None:
        for function, node in self._functions.get(frame.f_code, ()):
            if _is_run_by(function, frame):
                return node
        return self._owners.get(id(frame.f_locals.get("self")), (None, None))[1]


def _is_run_by(function: FunctionType, frame: FrameType) -> bool:
    """Return whether a frame runs a function; closures of one `def` differ by their cells."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if frame.f_locals.get(name) is not cell.cell_contents:
            return False
    return True


def located(exc: BaseException, places: Places, *, hint: str = "") -> KStreamsError:
    """Return a typed error for an exception of a node.

    `SystemExit` and other exceptions that are not an `Exception` are failures, too, because a
    processor must not end its executor. `KeyboardInterrupt` is not a failure; callers do not catch
    it.

    Args:
        exc: The exception.
        places: The functions of nodes.
        hint: The hint for an exception that is not a `KStreamsError`.
    """
    node = places.node_of(exc.__traceback__)
    if isinstance(exc, KStreamsError) and isinstance(exc.where, Where):
        return exc.at(node=node)
    if isinstance(exc, RecursionError) and places.is_chains(exc):
        return _too_deep(exc, node)
    return ProcessingError.of(exc, hint=hint).at(node=node)


def of_record(
    error: KStreamsError,
    entries: Mapping[str, Entry],
    queues: Sequence[Queue],
    first: int,
    *,
    hint: str,
) -> None:
    """Add the failed record to an error that has only the record's number in merged order.

    Args:
        error: The error of a node.
        entries: The sources, repartition edges and loops of the task, by name.
        queues: The current queues.
        first: The number of the first record of these queues in merged order.
        hint: The hint for a record that fails in user code or cannot be decoded.
    """
    if isinstance(error, DeserializationError):
        placed(error, entries, queues)
    if error.place is None:
        return
    if isinstance(error, (DeserializationError, ProcessingError)):
        error.hint = error.hint or hint
    place = error.place - first
    numbers, rows = merged_order([queue.table.column("timestamp").to_numpy() for queue in queues])
    if 0 <= place < len(rows):
        queue = queues[numbers[place]]
        known = queue.place(int(rows[place]))
        del known["timestamp"]  # its own may be another one
        error.at(**known)


def of_result(error: KStreamsError) -> KStreamsError:
    """Move the key and time of a result from an error's location to its message.

    The location can then have the key and time of the input record.
    """
    where = error.where
    parts = {"key": where.key, "timestamp": where.timestamp}
    said = " and ".join(f"{k} {repr_of(v, 80)}" for k, v in parts.items() if v is not None)
    if said:
        error.message = f"{error.message}; the result has {said}"
    error.where = replace(where, key=None, timestamp=None)
    return error


def _too_deep(exc: RecursionError, node: str | None) -> LimitError:
    error = LimitError(
        "the nested calls of the processors up to this one exceed the reserved call stack",
        hint="raise sys.setrecursionlimit, call fewer functions between process and forward, or "
        "put builder.repartition(...) between the nodes.",
    )
    error.__cause__ = exc
    return error.at(node=node)
