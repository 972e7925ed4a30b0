"""When an aggregation forwards results."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from kstreams.durations import positive_ms

__all__ = (
    "AtMostEvery",
    "Emission",
    "Every",
    "OnClose",
    "OnUpdate",
    "OncePerBatch",
    "at_most_every",
    "each_update",
    "every",
    "on_close",
    "once_per_batch",
)


@dataclass(frozen=True)
class OnUpdate:
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
    """Each change, but a window not again within an interval; made by `at_most_every(...)`."""

    interval: timedelta
    interval_ms: int


Emission = OnUpdate | OnClose | OncePerBatch | Every | AtMostEvery
"""When results are forwarded."""


def each_update() -> OnUpdate:
    """Forward a window's result at each record that changes it."""
    return OnUpdate()


def on_close() -> OnClose:
    """Forward one final result for each window, when stream time has closed it.

    Exactly once, and never amended: not across restarts, and not when stream time jumps
    over any number of windows.

    Source: `org.apache.kafka.streams.kstream.EmitStrategy#onWindowClose`.
    """
    return OnClose()


def once_per_batch() -> OncePerBatch:
    """Forward the last result of each key and window that a micro-batch has changed.

    At the batch's end, by window and key (deleted sessions first; without windows as the
    keys first came), and without headers. What comes out depends on how the input is cut
    into batches; the last result of each window does not.
    """
    return OncePerBatch()


def every(interval: timedelta) -> Every:
    """Forward what has changed at each interval of stream time, on its grid from 0."""
    return Every(interval, positive_ms("interval", interval))


def at_most_every(interval: timedelta) -> AtMostEvery:
    """Forward a window's changes no closer together than an interval, the last one always."""
    return AtMostEvery(interval, positive_ms("interval", interval))
