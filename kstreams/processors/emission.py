"""Emissions: when an aggregation forwards results.

Each emission is a function that users call, and a frozen class of the same name that holds its
settings: `each_update()` creates an `EachUpdate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from kstreams.times import positive_ms

__all__ = (
    "AtMostEvery",
    "EachUpdate",
    "Emission",
    "Every",
    "OnClose",
    "OncePerBatch",
    "at_most_every",
    "each_update",
    "every",
    "on_close",
    "once_per_batch",
)


@dataclass(frozen=True)
class EachUpdate:
    """Emit each change of a result immediately; created by `each_update()`."""


@dataclass(frozen=True)
class OnClose:
    """Emit one final result per window, when it closes; created by `on_close()`."""


@dataclass(frozen=True)
class OncePerBatch:
    """Emit the results that a micro-batch changed, at its end; created by `once_per_batch()`."""


@dataclass(frozen=True)
class Every:
    """Emit changed results at the end of each interval; created by `every(...)`."""

    interval: timedelta
    interval_ms: int


@dataclass(frozen=True)
class AtMostEvery:
    """Emit changes of a key at most once per interval; created by `at_most_every(...)`."""

    interval: timedelta
    interval_ms: int


Emission = EachUpdate | OnClose | OncePerBatch | Every | AtMostEvery
"""The emission of an aggregation: when results are forwarded."""


def each_update() -> EachUpdate:
    """Forward a result for each record that changes it."""
    return EachUpdate()


def on_close() -> OnClose:
    """Forward one final result for each window, when stream time closes the window.

    Each result is forwarded exactly once, and never changes afterwards, also across restarts and
    when stream time jumps over several windows. `kstreams.windows.rules` specifies which record
    closes a window, and the order of results. `UnlimitedWindows` close at the end of a run with
    `close_windows=True`.

    Source: `org.apache.kafka.streams.kstream.EmitStrategy#onWindowClose`.
    """
    return OnClose()


def once_per_batch() -> OncePerBatch:
    """Forward the last result of each key and window that the micro-batch changed.

    Results are forwarded at the end of the batch without headers, ordered by window and key,
    deleted sessions first; without windows, in the order in which keys first arrived. The results
    depend on the division of the input into batches; the last result of each window does not.
    """
    return OncePerBatch()


def every(interval: timedelta) -> Every:
    """Forward the changed results whenever stream time reaches the end of an interval.

    Intervals are aligned to the epoch. After the record that advances stream time to the end of an
    interval, each window that changed before that record is forwarded once with its last result,
    without headers: deleted sessions first, then by window and key. Results depend neither on
    batches nor on the rate of the input. The last result of a window is always forwarded, if
    necessary after the window has closed.

    Args:
        interval: 1 ms or more, in stream time.

    Raises:
        ValueError: The interval is not positive.

    Source: Flink's `ContinuousEventTimeTrigger`, which also forwards unchanged windows.
    """
    return Every(interval, positive_ms("interval", interval))


def at_most_every(interval: timedelta) -> AtMostEvery:
    """Forward changes of a key immediately, but at most once in each interval.

    For records without windows, pass it to `kstreams.operators.limit_rate`.

    An early change is buffered with further changes of the key until stream time reaches the end of
    the interval. The last result of each changed window of the key is then forwarded, without
    headers: deleted sessions first, then by window. The last result of a window is always
    forwarded. Results do not depend on batches.

    Args:
        interval: 1 ms or more, in stream time.

    Raises:
        ValueError: The interval is not positive.

    Source: none in Kafka Streams; its `Suppressed#untilTimeLimit` also delays the first change.
    """
    return AtMostEvery(interval, positive_ms("interval", interval))
