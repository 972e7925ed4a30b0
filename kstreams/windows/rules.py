"""The rules of windowed aggregation: lateness, drops, closing, and order of final results.

This module defines the rules once, in words and in code. Records are aggregated one by one
(`records/`) or by columns (`columns/`), and both executions call these functions, which accept one
number or a column of numbers. The models in the tests define the rules again, so that the tests
find a mistake in this module.

**Time.** Windows follow *stream time*: the highest timestamp that the task has read from any of its
topics and keys, including the current record. Stream time never decreases.

**Closing.** A window that ends at E closes when stream time reaches `E + close_delay_ms`. The delay
is the grace; plus 1 ms if the end belongs to the window; and for sessions plus the gap, within
which a record could still join. So one number determines the closed windows: those that end at
`closed_end(...)` or before, whether they were forwarded and deleted or not. A run to the end may
close open windows early (`advance_close_time`). Lateness is then measured by the time that would
have closed them, until stream time is later (`lateness_time`): a closed window stays closed.

**Drops.** Each drop is counted under the first of these reasons that applies:

1. `too-far-ahead`: the time is too far in the future; decided at the source, before stream time
   advances (`add_source(max_ahead=...)`).
2. `null-key`: the key is null.
3. `null-value`: the value is null; only for sliding windows.
4. `no-window`: no window contains the time: it is negative, before the start of `UnlimitedWindows`,
   or outside of the calendar.
5. `late`: the window is closed.
   - Tumbling, hopping, calendar, custom: each window of a record counts separately, so a record may
     be late for one window and on time for the next; each rejection is a drop.
   - Sliding: the last possible window of the record, `[t, t + difference]`, is closed. Otherwise
     the record is added, and changes only open windows.
   - Sessions: no open session is within the gap, and a session of the record alone, `[t, t]`, would
     be closed. A closed session is never joined or merged.

**Final results** (`on_close()`): each window has exactly one, with its state at closing. The result
is forwarded with the record that advances stream time to the closing, as of that time. Results of
one record are ordered by start and key bytes (`by_start`), sessions by end, start and key bytes
(`by_end`).

Source: `KStreamWindowAggregate`, `KStreamSlidingWindowAggregate` and
`KStreamSessionWindowAggregate` of Kafka Streams, KIP-450 and KIP-825. Differences: stream time
belongs to the task, not to the processor; final results are not lost when stream time jumps, and
none is repeated; closed sessions are never merged; and an out-of-order record that is not late also
creates the sliding window that begins after it.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import numpy as np

__all__ = (
    "DropReason",
    "by_end",
    "by_start",
    "close_time",
    "closed_end",
    "interval_end",
    "last_sliding_end",
    "lateness_time",
    "refusing_window",
)

DropReason = Literal["null-key", "null-value", "no-window", "late"]
"""The reason why a windowed aggregation drops a record."""

T = TypeVar("T", int, "np.ndarray[Any, np.dtype[np.int64]]")
"""A time or span (ms), or a column of them."""
A = TypeVar("A")
"""A time (ms) to sort by, or a column of times."""
B = TypeVar("B")
"""A key's bytes, or a column of encoded keys."""


def lateness_time(stream_time: T, close_time_ms: int) -> T:
    """Return the time (ms) that decides which windows are closed: the later of both arguments.

    Args:
        stream_time: Stream time, ms.
        close_time_ms: The stream time as of which a run closed windows early; -1 for never.
    """
    if isinstance(stream_time, int):
        return max(stream_time, close_time_ms)
    later: T = np.maximum(stream_time, close_time_ms)
    return later


def closed_end(lateness_time: T, close_delay_ms: int) -> T:
    """Return the last closed end (ms): exactly the windows that end at or before it are closed."""
    return lateness_time - close_delay_ms


def close_time(end: T, close_delay_ms: int) -> T:
    """Return the stream time (ms) at which a window with an end closes; inverse of `closed_end`."""
    return end + close_delay_ms


def last_sliding_end(time: T, difference_ms: int) -> T:
    """Return the end (ms) of a time's last sliding window; a record is late if that is closed."""
    return time + difference_ms


def refusing_window(time: T, difference_ms: int) -> tuple[T, T]:
    """Return start and end (ms) of the sliding window that is reported as rejecting a late record.

    The window ends with the record; times before `difference` share the window `[0, difference]`,
    because no window starts before the epoch.
    """
    if isinstance(time, int):
        return max(time - difference_ms, 0), max(time, difference_ms)
    return np.maximum(time - difference_ms, 0), np.maximum(time, difference_ms)


def interval_end(stream_time: T, interval_ms: int) -> T:
    """Return the end (ms) of the interval of `every(interval)` that contains a stream time."""
    return stream_time - stream_time % interval_ms + interval_ms


def by_start(start: A, key: B) -> tuple[A, B]:
    """Return the sort key of final results: start, then key bytes."""
    return start, key


def by_end(end: A, start: A, key: B) -> tuple[A, A, B]:
    """Return the sort key of final results of sessions: end, start, then key bytes."""
    return end, start, key
