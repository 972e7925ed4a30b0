"""Emission: when an aggregation forwards its results.

Pass one of these emissions as `emit=` to `windowed_aggregate` (`aggregate` and `reduce` accept the
first two):

- `once_per_batch()`, the default: the last result of each key and window that the batch changed.
- `each_update()`: every result, record by record.
- `on_close()`: one final result when the window closes.
- `every(interval)`: the changed results, at the end of each interval of stream time.
- `at_most_every(interval)`: at most one result of a key and window in each interval.

`suppress` buffers updates after any node, as in Kafka Streams: `until_window_closes(windows)` or
`until_time_limit(limit)`.

Example:
    >>> from kstreams import INT64, TEXT
    >>> from kstreams.aggregators import count
    >>> from kstreams.durations import hours, seconds
    >>> from kstreams.emit import every
    >>> from kstreams.stores import window_store
    >>> from kstreams.windows import TumblingWindows, windowed_aggregate
    >>> hourly = windowed_aggregate(
    ...     TumblingWindows(hours(1)),
    ...     count(),
    ...     store=window_store("hourly", key=TEXT, value=INT64),
    ...     emit=every(seconds(30)),
    ... )
"""

from __future__ import annotations

from kstreams.processors.emission import (
    AtMostEvery,
    EachUpdate,
    Emission,
    Every,
    OncePerBatch,
    OnClose,
    at_most_every,
    each_update,
    every,
    on_close,
    once_per_batch,
)
from kstreams.windows.suppress import suppress
from kstreams.windows.suppression import (
    UntilTimeLimit,
    UntilWindowCloses,
    until_time_limit,
    until_window_closes,
)

__all__ = (
    "AtMostEvery",
    "EachUpdate",
    "Emission",
    "Every",
    "OnClose",
    "OncePerBatch",
    "UntilTimeLimit",
    "UntilWindowCloses",
    "at_most_every",
    "each_update",
    "every",
    "on_close",
    "once_per_batch",
    "suppress",
    "until_time_limit",
    "until_window_closes",
)
