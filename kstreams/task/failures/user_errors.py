"""Turn what user code raises into a typed error that names the node."""

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
    """Which node runs what, to find the node of an exception in its traceback.

    So nothing is tracked while all goes well.

    Args:
        call_frames: How many frames are set aside for nodes that call each other.
    """

    def __init__(self, call_frames: int = 0) -> None:
        self._call_frames = call_frames
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

    def node_running(self, frame: FrameType | None) -> str | None:
        """Return the node that runs where a thread is at this frame, its innermost."""
        while frame is not None:
            found = self._node(frame)
            if found is not None:
                return found
            frame = frame.f_back
        return None

    def is_chains(self, exc: RecursionError) -> bool:
        """Tell whether the nodes together ran out of stack, none of them by itself.

        By itself is what a node does with its record, such as reading a document that nests
        too deep: of more frames than most programs have in all, or none that are seen (in C).
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
    """Tell closures of one `def` apart by what they have closed over."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if frame.f_locals.get(name) is not cell.cell_contents:
            return False
    return True


def located(exc: BaseException, places: Places, *, hint: str = "") -> KStreamsError:
    """Return a typed error for an exception that came out of a node.

    `SystemExit` and others that are no `Exception` are failures like any: an executor is
    not the processor's to end. `KeyboardInterrupt` is none; callers let it pass.

    Args:
        exc: What was raised.
        places: Which node runs what.
        hint: What to do about it, for what is not a `KStreamsError` yet.
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
    """Name the record of an error that says at which place one failed, or that one does not decode.

    Args:
        error: Out of a node.
        entries: Where queues come in.
        queues: What is under way.
        first: The place of their first record, in merged order.
        hint: What to do about a record that fails in user code or does not decode.
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
    """Let an error that names a result's key and time make room for those of its record.

    The message keeps what they were.
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
        "the processors above this one take more of the stack than is set aside for them",
        hint="raise sys.setrecursionlimit, call fewer functions between process and forward, or "
        "put builder.repartition(...) between the nodes.",
    )
    error.__cause__ = exc
    return error.at(node=node)
