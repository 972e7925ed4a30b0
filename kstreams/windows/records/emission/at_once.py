"""Emission at each update, and on closing."""

from __future__ import annotations

from typing import Any

from kstreams.record import Record
from kstreams.windowed import Windowed
from kstreams.windows.records.emission.emitter import Emitter, Stamped

__all__ = ("FinalEmitter", "UpdateEmitter")


class UpdateEmitter(Emitter):
    """Forwards each change immediately, with the headers of its record: `each_update()`."""

    def update(
        self, record: Record[Any, Any], start: int, end: int, stamped: Stamped | None
    ) -> None:
        """Forward the result, or the deletion of a session."""
        window = Windowed(record.key, start, end)
        if stamped is None:
            self._forward(Record(window, None, end, record.headers))
        else:
            state, time = stamped
            self._forward(Record(window, self._result(state), time, record.headers))


class FinalEmitter(Emitter):
    """Forwards the last result of each window when it closes: `on_close()`."""

    def update(
        self, record: Record[Any, Any], start: int, end: int, stamped: Stamped | None
    ) -> None:
        """Do nothing: the store keeps the state until the window closes."""
