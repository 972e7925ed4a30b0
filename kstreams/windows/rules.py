"""The rules of windowed aggregation: lateness, drops, closing, order of final results.

They are said once, here, in words and in code. Records are aggregated one by one
(`records/`) or by columns (`columns/`), and both engines call these functions: each
takes one number or a column of numbers. The models in the tests do not call them. They
spell the rules out again, on purpose, so that a mistake made here is found there.

**Time.** Windows follow *stream time*: the highest timestamp that the task has seen in any
of its topics and keys, the present record's included. It never goes back.

**Closing.** A window that ends at E closes when stream time reaches
`E + close_delay_ms`: the grace; one more where the end belongs to the window; and for
sessions the gap, in which a record could still join them. So at any moment one number
says which windows are closed: those that end at `closed_end(...)` or before. It does not
matter whether they were forwarded or deleted yet. A run to the end may close what is open
early (`advance_close_time`). From then on lateness is measured by the time that would have
closed it, until stream time is further (`lateness_time`): what is closed stays closed.

**Drops.** Each is counted under its reason. The first that holds is the one:

1. `too-far-ahead`: the time lies too far in the future; decided at the source, before
   stream time moves (`add_source(max_ahead=...)`).
2. `null-key`: there is no key.
3. `null-value`: there is no value; sliding windows alone.
4. `no-window`: no window holds the time: it is negative, before the start of
   `UnlimitedWindows`, or outside of the calendar.
5. `late`: the window is closed.
   - Tumbling, hopping, calendar, custom: each window of a record counts for itself, so a
     record may be late for one and in time for the next; each refusal is a drop.
   - Sliding: the last window that could hold the record, `[t, t + difference]`, is
     closed. Else the record is added, and changes only those windows that are open.
   - Sessions: no open session is within the gap, and a session of the record alone,
     `[t, t]`, would be closed. A closed session is never joined, nor merged.

**Final results** (`on_close()`): each window has exactly one, with its state at closing.
It is forwarded with the record that moves stream time so far, and as of that time.
What one record closes comes in the order of start and key bytes (`by_start`), sessions in
that of end, start and key bytes (`by_end`).

Source: `KStreamWindowAggregate`, `KStreamSlidingWindowAggregate` and
`KStreamSessionWindowAggregate` of Kafka Streams, KIP-450 and KIP-825. We depart from them:
stream time is the task's, not the processor's; finals are not lost when stream time jumps,
and none comes twice; closed sessions take part in no merge; and a record that is out of
order, but not late, also makes the sliding window that begins after it.
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
"""Why a windowed aggregation drops a record."""

T = TypeVar("T", int, "np.ndarray[Any, np.dtype[np.int64]]")
"""A time or span, or a column of them, ms."""
A = TypeVar("A")
"""A time to sort by, or a column of them."""
B = TypeVar("B")
"""A key's bytes, or a column of them."""


def lateness_time(stream_time: T, close_time_ms: int) -> T:
    """Return the time that lateness is measured by.

    Args:
        stream_time: Stream time.
        close_time_ms: As of which stream time windows were closed early; -1 for never.
    """
    if isinstance(stream_time, int):
        return max(stream_time, close_time_ms)
    later: T = np.maximum(stream_time, close_time_ms)
    return later


def closed_end(lateness_time: T, close_delay_ms: int) -> T:
    """Return the last end that is closed: windows that end there or before are, no others."""
    return lateness_time - close_delay_ms


def close_time(end: T, close_delay_ms: int) -> T:
    """Return the stream time at which a window with an end closes; undoes `closed_end`."""
    return end + close_delay_ms


def last_sliding_end(time: T, difference_ms: int) -> T:
    """Return the end of the last sliding window that may hold a time: late if it is closed."""
    return time + difference_ms


def refusing_window(time: T, difference_ms: int) -> tuple[T, T]:
    """Return start and end of the sliding window that a late record is refused by.

    It is the one that ends with the record; times before `difference` share
    `[0, difference]`, as no window starts before the epoch.
    """
    if isinstance(time, int):
        return max(time - difference_ms, 0), max(time, difference_ms)
    return np.maximum(time - difference_ms, 0), np.maximum(time, difference_ms)


def interval_end(stream_time: T, interval_ms: int) -> T:
    """Return when a change is forwarded by `every(interval)`: at the end of its interval."""
    return stream_time - stream_time % interval_ms + interval_ms


def by_start(start: A, key: B) -> tuple[A, B]:
    """Return what final results are sorted by: start, then key bytes."""
    return start, key


def by_end(end: A, start: A, key: B) -> tuple[A, A, B]:
    """Return what final results of sessions are sorted by: end, start, then key bytes."""
    return end, start, key
