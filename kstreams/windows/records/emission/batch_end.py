"""Emission at the end of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.windows.records.emission.emitter import Emitter, Process, Stamped

__all__ = ("BatchEndEmitter",)

_Change = tuple[tuple[int, Any, int], "Stamped | None"]
"""Start (ms), key and end of a window; then its state and time, or None if it was deleted."""


class BatchEndEmitter(Emitter):
    """Forwards the last result of each window that the batch changed: `once_per_batch()`.

    Deleted sessions are forwarded first, then results by start, key and end, without headers,
    because a result of a batch does not belong to one record. A session that began and was merged
    within the batch is skipped. A record only adds its change to a list: windows and results are
    created once per batch.

    Args:
        context: The context of the node; its `init` must create the emitter.
        key: The serde of the keys, which are sorted by their bytes.
        result: Converts a state to a result.
        forward: Forwards results.
    """

    def __init__(
        self,
        context: ProcessorContext[Any, Any],
        key: Serde[Any],
        result: Callable[[Any], Any],
        forward: Process,
    ) -> None:
        super().__init__(result, forward)
        self._hashes = key.hashes_by_bytes
        self._encode = key.ordered.serialize
        self._hold = context.hold(self._release)

    def update(
        self, record: Record[Any, Any], start: int, end: int, stamped: Stamped | None
    ) -> None:
        """Record the change for the end of the batch."""
        self._hold(((start, record.key, end), stamped))

    def _release(self, changes: Sequence[_Change]) -> None:
        for (start, key, end), stamped in sorted(self._last(changes), key=self._place):
            self.forward(key, start, end, stamped)

    def _place(self, change: _Change) -> tuple[bool, int, bytes, int]:
        (start, key, end), stamped = change
        return stamped is not None, start, self._encode(key), end

    def _last(self, changes: Sequence[_Change]) -> list[_Change]:
        """Return each window's last change, except sessions created and deleted in the batch."""
        if self._hashes:
            return _last_of_each(changes)
        windows = [window for window, _ in changes]
        names = [(start, self._encode(key), end) for start, key, end in windows]
        stamps = [stamped for _, stamped in changes]
        named = dict(zip(names, windows, strict=True))
        last = _last_of_each(list(zip(names, stamps, strict=True)))
        return [(named[name], stamped) for name, stamped in last]


def _last_of_each(changes: Sequence[_Change]) -> list[_Change]:
    last = dict(changes)
    if all(stamped is not None for stamped in last.values()):
        return list(last.items())
    first = dict(reversed(changes))
    return [
        (window, stamped)
        for window, stamped in last.items()
        if stamped is not None or first[window] is None
    ]
