"""Hold changes of a key back until it may be forwarded again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kstreams.durations import milliseconds
from kstreams.processors.context import ProcessorContext, PunctuationType
from kstreams.record import Record
from kstreams.state.stores.buffered import BufferedState, state_after
from kstreams.state.stores.rate_limit.rows import RateLimitRows, Windows
from kstreams.windowed import Windowed

__all__ = ("Paced",)

_FAR = 1 << 62
_RESTS = 16
"""In how many intervals rows are deleted that say nothing any more."""


class Paced:
    """Forwards a key's changed windows no closer together than an interval.

    Args:
        context: The node's, in `init`.
        store: What is held back.
        interval_ms: Least stream time between two times that a key is forwarded.
        result: Makes a result of a state.
        forward: Takes results.
    """

    def __init__(
        self,
        context: ProcessorContext[Any, Any],
        store: RateLimitRows[Any, Any],
        interval_ms: int,
        result: Callable[[Any], Any],
        forward: Callable[[Record[Any, Any]], None],
    ) -> None:
        self._context = context
        self._store = store
        self._interval = interval_ms
        self._result = result
        self._forward = forward
        self._changes: list[Record[Windowed[Any], Any]] = []
        self._next = -_FAR  # nothing is due before: spares looks at the store
        context.schedule(
            milliseconds(1), PunctuationType.STREAM_TIME, self._release, name="at-most-every"
        )
        self.take: Callable[[Record[Any, Any]], None] = self._changes.append

    def around(
        self, process: Callable[[Record[Any, Any]], None]
    ) -> Callable[[Record[Any, Any]], None]:
        """Return what processes a record, and then sees to the changes it has made."""
        changes = self._changes

        def paced(record: Record[Any, Any]) -> None:
            changes.clear()  # those of a record that failed
            process(record)
            if changes:
                self._settle(record.key)

        return paced

    def release_all(self) -> None:
        """Forward all that waits."""
        held_back = [(key, windows) for key, (_, windows) in self._store.scan() if windows]
        for key, windows in held_back:
            self._tell(key, windows, self._context.stream_time)

    def _settle(self, key: Any) -> None:  # noqa: ANN401  # erased types
        now = self._context.stream_time
        free, waiting = self._store.get(key) or (now, ())
        windows = _changed(waiting, self._changes)
        if now < free:
            self._store.hold_back(key, free, windows)
            self._next = min(self._next, free)
        else:
            self._tell(key, windows, now)

    def _release(self, now: int) -> None:
        if now < self._next:
            return
        for key in self._store.due(now):
            _, windows = self._store.get(key) or (now, ())
            if windows:
                self._tell(key, windows, now)
            else:
                self._store.delete(key)
        following = self._store.next_timer()
        self._next = _FAR if following is None else following

    def _tell(self, key: Any, windows: Windows[Any], now: int) -> None:  # noqa: ANN401  # erased
        """Forward windows, deletions first, and nothing more within the interval."""
        due = self._store.forwarded(key, now + self._interval, _RESTS * self._interval)
        self._next = min(self._next, due)
        for start, end, waiting in sorted(windows, key=lambda item: item[2].value is not None):
            value = None if waiting.value is None else self._result(waiting.value)
            self._forward(Record(Windowed(key, start, end), value, waiting.time_ms))


def _changed(waiting: Windows[Any], changes: Iterable[Record[Windowed[Any], Any]]) -> Windows[Any]:
    """Return what is held back after changes, by window."""
    found: dict[tuple[int, int], BufferedState[Any] | None] = {
        (s, e): item for s, e, item in waiting
    }
    for record in changes:
        bounds = record.key.start_ms, record.key.end_ms
        found[bounds] = state_after(found.get(bounds), record.value, record.timestamp)
    return tuple((*bounds, item) for bounds, item in sorted(found.items()) if item is not None)
