"""Windows: their kinds, aggregation by key and window, suppression, windowed keys.

Read `TumblingWindows` and `windowed_aggregate` first. Works on records, stores and
processors; imports no engine, and the graph only for `split_late`.
"""

from __future__ import annotations

from kstreams.durations import days, hours, milliseconds, minutes, seconds
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
from kstreams.windowed import Windowed
from kstreams.windows.aggregate import windowed_aggregate
from kstreams.windows.kinds.calendar import CalendarUnit, CalendarWindows, Weekday
from kstreams.windows.kinds.contract import Closing, TimeWindows
from kstreams.windows.kinds.hopping import HoppingWindows
from kstreams.windows.kinds.serdes import windowed
from kstreams.windows.kinds.session import SessionWindows
from kstreams.windows.kinds.sliding import SlidingWindows
from kstreams.windows.kinds.tumbling import TumblingWindows
from kstreams.windows.kinds.unlimited import UnlimitedWindows
from kstreams.windows.late import Late
from kstreams.windows.split_late import split_late
from kstreams.windows.supplier import WindowedSupplier
from kstreams.windows.suppress import suppress
from kstreams.windows.suppression import (
    UntilTimeLimit,
    UntilWindowCloses,
    until_time_limit,
    until_window_closes,
)

__all__ = (
    "AtMostEvery",
    "CalendarUnit",
    "CalendarWindows",
    "Closing",
    "EachUpdate",
    "Emission",
    "Every",
    "HoppingWindows",
    "Late",
    "OnClose",
    "OncePerBatch",
    "SessionWindows",
    "SlidingWindows",
    "TimeWindows",
    "TumblingWindows",
    "UnlimitedWindows",
    "UntilTimeLimit",
    "UntilWindowCloses",
    "Weekday",
    "Windowed",
    "WindowedSupplier",
    "at_most_every",
    "days",
    "each_update",
    "every",
    "hours",
    "milliseconds",
    "minutes",
    "on_close",
    "once_per_batch",
    "seconds",
    "split_late",
    "suppress",
    "until_time_limit",
    "until_window_closes",
    "windowed",
    "windowed_aggregate",
)
