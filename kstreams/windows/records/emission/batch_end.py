"""Of a batch's changed windows, the last state of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.windowed import Windowed

__all__ = ("Change", "last_states")

Change = tuple[tuple[Any, ...], "tuple[Any, int] | None"]
"""Start (ms), key and, for windows of no one length, end of a window; then its state and
time, or None if it was deleted."""


def last_states(
    key: Serde[Any],
    window_of: Callable[[tuple[Any, ...]], Windowed[Any]],
    result: Callable[[Any], Any],
    forward: Callable[[Record[Any, Any]], None],
) -> Callable[[Sequence[Change]], None]:
    """Return what forwards, of changes in order, the last result of each key and window.

    Deleted sessions come first, then results by start, key and end. They carry no headers:
    a result of a batch is no single record's. A session that began and was swallowed
    within the batch is left out. A record costs no more than noting its change: windows
    and results are made once a batch.

    Args:
        key: Serde of the keys; tells keys apart that do not hash.
        window_of: Makes a window of what a change begins with.
        result: Makes a result of a state.
        forward: Takes the results.
    """
    by_object, encode = key.hashes_by_bytes, key.ordered.serialize

    def place(change: Change) -> tuple[Any, ...]:
        (start, own, *end), content = change
        return content is not None, start, encode(own), *end

    def release(changes: Sequence[Change]) -> None:
        if by_object:
            last, first = dict(changes), dict(reversed(changes))
            kept = [(h, c) for h, c in last.items() if c is not None or first[h] is None]
        else:
            keyed = [((h[0], encode(h[1]), *h[2:]), (h, c)) for h, c in changes]
            latest, earliest = dict(keyed), dict(reversed(keyed))
            kept = [
                change
                for handle, change in latest.items()
                if change[1] is not None or earliest[handle][1] is None
            ]
        kept.sort(key=place)
        for handle, content in kept:
            window = window_of(handle)
            if content is None:
                gone: Any = None
                forward(Record(window, gone, window.end_ms))
            else:
                forward(Record(window, result(content[0]), content[1]))

    return release
