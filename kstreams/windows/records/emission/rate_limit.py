"""Emission with a rate limit for each key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kstreams.durations import milliseconds
from kstreams.processors.context import ProcessorContext, PunctuationType
from kstreams.record import Record
from kstreams.state.stores.buffered import BufferedState, state_after
from kstreams.state.stores.rate_limit.rows import RateLimitRows, Windows
from kstreams.times import FAR_MS
from kstreams.windows.records.emission.emitter import Emitter, Process, Stamped

__all__ = ("RateLimitEmitter",)

_IDLE_INTERVALS = 16
"""The row of a key without buffered changes is deleted after this number of intervals."""


class RateLimitEmitter(Emitter):
    """Forwards a key's changed windows at most once per interval: `at_most_every(interval)`.

    Args:
        context: The context of the node; its `init` must create the emitter.
        rows: For each key, the time of its next emission and its buffered changes.
        interval_ms: The minimum stream time between two emissions of a key, ms.
        result: Converts a state to a result.
        forward: Forwards a result.
    """

    def __init__(
        self,
        context: ProcessorContext[Any, Any],
        rows: RateLimitRows[Any, Any],
        interval_ms: int,
        result: Callable[[Any], Any],
        forward: Process,
    ) -> None:
        super().__init__(result, forward)
        self._context = context
        self._rows = rows
        self._interval = interval_ms
        self._changes: list[tuple[int, int, Stamped | None]] = []
        self._next_due = -FAR_MS  # a lower bound, which saves looks at the store
        context.schedule(
            milliseconds(1), PunctuationType.STREAM_TIME, self._release, name="at-most-every"
        )
        context.on_end_of_run(self._release_all)

    def update(
        self, record: Record[Any, Any], start: int, end: int, stamped: Stamped | None
    ) -> None:
        """Collect a change of the current record, which `around` then forwards or buffers."""
        self._changes.append((start, end, stamped))

    def around(self, process: Process) -> Process:
        """Return a function that processes a record, then forwards or buffers its changes."""
        changes, settle = self._changes, self._settle

        def limited(record: Record[Any, Any]) -> None:
            changes.clear()  # those of a record that failed
            process(record)
            if changes:
                settle(record.key)

        return limited

    def _settle(self, key: Any) -> None:  # noqa: ANN401  # erased types
        now = self._context.stream_time
        free, before = self._rows.get(key) or (now, ())
        windows = self._changed(before)
        if now < free:
            self._rows.hold_back(key, free, windows)
            self._next_due = min(self._next_due, free)
        else:
            self._forward_all(key, windows, now)

    def _changed(self, before: Windows[Any]) -> Windows[Any]:
        """Merge the current record's changes into its key's buffered windows.

        Args:
            before: The buffered windows.

        Returns:
            The buffered windows after the changes, sorted by start and end.
        """
        found: dict[tuple[int, int], BufferedState[Any] | None] = {
            (s, e): item for s, e, item in before
        }
        for start, end, stamped in self._changes:
            state, time = (None, end) if stamped is None else stamped
            found[start, end] = state_after(found.get((start, end)), state, time)
        return tuple((*bounds, item) for bounds, item in sorted(found.items()) if item is not None)

    def _release(self, now: int) -> None:
        """Forward the buffered changes of keys whose interval has ended by a time (ms)."""
        if now < self._next_due:
            return
        for key in self._rows.due(now):
            _, windows = self._rows.get(key) or (now, ())
            if windows:
                self._forward_all(key, windows, now)
            else:
                self._rows.delete(key)
        following = self._rows.next_timer()
        self._next_due = FAR_MS if following is None else following

    def _release_all(self) -> None:
        held_back = [(key, windows) for key, (_, windows) in self._rows.scan() if windows]
        for key, windows in held_back:
            self._forward_all(key, windows, self._context.stream_time)

    def _forward_all(self, key: Any, windows: Windows[Any], now: int) -> None:  # noqa: ANN401  # erased
        """Forward windows, deletions first, and start a new interval of the key."""
        due = self._rows.forwarded(key, now + self._interval, _IDLE_INTERVALS * self._interval)
        self._next_due = min(self._next_due, due)
        for start, end, item in sorted(windows, key=lambda window: window[2].value is not None):
            stamped = None if item.value is None else (item.value, item.time_ms)
            self.forward(key, start, end, stamped)
