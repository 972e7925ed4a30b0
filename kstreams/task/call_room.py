"""Enough stack for long chains of processors that call each other."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import ClassVar, TypeVar

__all__ = ("CallRoom",)

T = TypeVar("T")
"""The result type of a call."""

_FRAMES = 16
"""The frames reserved for a node: its `process`, and the calls from there to the next node."""
_INTERCEPTOR_FRAMES = 4
_FRAME_BYTES = 2048
"""The reserved stack bytes of a frame: a call through C needs 800, a call within Python none."""
_LEAST_STACK = 16 * 1024 * 1024
_SHALLOW = 1_000
"""The maximum number of frames that fit on the stack of any thread."""


class CallRoom:
    """Runs a task so that each of its processors has as much stack as the first one.

    A processor forwards a record by calling the next processor. A chain of nodes near Python's
    recursion limit would otherwise fail for each record, and a shorter chain for deep calls in a
    processor. Deep chains run in a separate thread, always the same one, with a large stack.

    Args:
        depth: The maximum number of nodes that call each other for one record.
        interceptors: The number of interceptors of each node.

    Attributes:
        frames: The number of frames that are reserved for all nodes.
    """

    def __init__(self, depth: int, interceptors: int = 0) -> None:
        self.frames = depth * (_FRAMES + interceptors * _INTERCEPTOR_FRAMES)
        self._thread: ThreadPoolExecutor | None = None

    def call(self, function: Callable[[], T]) -> T:
        """Call a function with enough stack; return its result or raise its exception."""
        with _RecursionLimit.raised_by(self.frames):
            if self.frames <= _SHALLOW:
                return function()
            future = self._submitted(function)
            try:
                return future.result()
            finally:
                wait([future])  # an interrupt of this thread does not stop the other

    def _submitted(self, function: Callable[[], T]) -> Future[T]:
        if self._thread is not None:
            return self._thread.submit(function)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="kstreams-deep-chain")
        with _STACK_SIZE:
            before = threading.stack_size(max(_LEAST_STACK, self.frames * _FRAME_BYTES))
            try:
                return self._thread.submit(function)  # starts the thread
            finally:
                threading.stack_size(before)

    def close(self) -> None:
        """End the thread, if there is one."""
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None


_STACK_SIZE = threading.Lock()
"""Held while the stack size of new threads is changed, which affects the whole process."""


class _RecursionLimit:
    """Raises the process's recursion limit by the most frames that any running task reserves."""

    _lock: ClassVar[threading.Lock] = threading.Lock()
    _raised: ClassVar[list[int]] = []
    _base: ClassVar[int] = 0
    _made: ClassVar[int] = 0

    @classmethod
    @contextmanager
    def raised_by(cls, frames: int) -> Iterator[None]:
        """Raise the recursion limit by a number of frames during the `with` block."""
        with cls._lock:
            cls._raised.append(frames)
            cls._set()
        try:
            yield
        finally:
            with cls._lock:
                cls._raised.remove(frames)
                cls._set()

    @classmethod
    def _set(cls) -> None:
        present = sys.getrecursionlimit()
        if present != cls._made:  # changed by other code: add to the current value
            cls._base = present
        cls._made = cls._base + max(cls._raised, default=0)
        sys.setrecursionlimit(cls._made)
