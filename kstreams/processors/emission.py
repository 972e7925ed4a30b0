"""When an aggregation forwards results.

Each emission is a function that users call, and a frozen class of the same name that holds
its settings: `each_update()` makes `EachUpdate`.
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
    """Each change of a window, at once; made by `each_update()`."""


@dataclass(frozen=True)
class OnClose:
    """One final result for each window, when it closes; made by `on_close()`."""


@dataclass(frozen=True)
class OncePerBatch:
    """The windows a micro-batch has changed, at its end; made by `once_per_batch()`."""


@dataclass(frozen=True)
class Every:
    """The windows that have changed, at each interval of stream time; made by `every(...)`."""

    interval: timedelta
    interval_ms: int


@dataclass(frozen=True)
class AtMostEvery:
    """Each change, but a key not again within an interval; made by `at_most_every(...)`."""

    interval: timedelta
    interval_ms: int


Emission = EachUpdate | OnClose | OncePerBatch | Every | AtMostEvery
"""When results are forwarded."""


def each_update() -> EachUpdate:
    """Forward the result of a window at each record that changes it."""
    return EachUpdate()


def on_close() -> OnClose:
    """Forward one final result for each window, when stream time has closed it.

    Exactly once, and never changed afterwards: not across restarts, and not when stream
    time jumps over any number of windows. `kstreams.windows.rules` specifies which record
    closes a window, and the order of results. `UnlimitedWindows` close at the end of a run with
    `close_windows=True`.

    Source: `org.apache.kafka.streams.kstream.EmitStrategy#onWindowClose`.
    """
    return OnClose()


def once_per_batch() -> OncePerBatch:
    """Forward the last result of each key and window that a micro-batch has changed.

    At the end of the batch, by window and key (deleted sessions first; without windows as the
    keys first came), and without headers. What comes out depends on how the input is cut
    into batches; the last result of each window does not.
    """
    return OncePerBatch()


def every(interval: timedelta) -> Every:
    """Forward what has changed whenever stream time reaches the end of an interval.

    Intervals are counted from the epoch. After the record by which stream time reaches the
    end of one, the windows that changed before that record are forwarded, each once and
    with its last result: deleted sessions first, then by window and key, without headers.
    So results depend neither on batches nor on the speed of the input. The last result of
    a window always comes, if need be after the window has closed.

    Args:
        interval: 1 ms or more, in stream time.

    Raises:
        ValueError: The interval is not positive.

    Source: Flink's `ContinuousEventTimeTrigger`, which forwards windows that have not
    changed too.
    """
    return Every(interval, positive_ms("interval", interval))


def at_most_every(interval: timedelta) -> AtMostEvery:
    """Forward a key's changes at once, but no closer together than an interval.

    For records without windows, `kstreams.operators.limit_rate` takes it.

    A change that comes too early waits, with what else changes of that key, until stream
    time allows it; then the last result of each of the key's changed windows is forwarded:
    deleted sessions first, then by window, and without headers. The last result of a
    window always comes. Results do not depend on batches.

    Args:
        interval: 1 ms or more, in stream time.

    Raises:
        ValueError: The interval is not positive.

    Source: none in Kafka Streams, whose `Suppressed#untilTimeLimit` delays the first
    change too.
    """
    return AtMostEvery(interval, positive_ms("interval", interval))
