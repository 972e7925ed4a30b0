"""Emitters, which determine when results are forwarded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from kstreams.record import Record
from kstreams.windowed import Windowed

__all__ = ("Emitter", "Process", "Stamped")

Process = Callable[[Record[Any, Any]], None]
"""Processes a record."""

Stamped = tuple[Any, int]
"""The state of a window, and the timestamp (ms) of its result."""


class Emitter(ABC):
    """Receives each change of a window, and forwards results when they are due.

    There is one class for each emission of `kstreams.processors.emission`.

    Args:
        result: Converts a state to a result.
        forward: Forwards a result.
    """

    def __init__(self, result: Callable[[Any], Any], forward: Process) -> None:
        self._result = result
        self._forward = forward

    @abstractmethod
    def update(
        self, record: Record[Any, Any], start: int, end: int, stamped: Stamped | None
    ) -> None:
        """Process a change that a record makes to a window's state.

        Args:
            record: The record; its key is the key of the windowed result.
            start: The start of the window, ms.
            end: The end of the window, ms.
            stamped: The new state and its timestamp; None if the session is deleted.
        """

    def close(self, key: Any, start: int, end: int, stamped: Stamped) -> None:  # noqa: ANN401
        """Forward the final result of a window that closes; called only with `on_close()`."""
        self.forward(key, start, end, stamped)

    def around(self, process: Process) -> Process:
        """Return a function that wraps `process`; by default, `process` itself."""
        return process

    def forward(self, key: Any, start: int, end: int, stamped: Stamped | None) -> None:  # noqa: ANN401
        """Forward a result, or the deletion of a session, without headers."""
        value, time = (None, end) if stamped is None else (self._result(stamped[0]), stamped[1])
        self._forward(Record(Windowed(key, start, end), value, time))
