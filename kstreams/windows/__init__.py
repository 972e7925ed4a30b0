"""Windows: aggregate records by key and time.

- `TumblingWindows(size)`: adjacent windows. `HoppingWindows(size, advance)`: overlapping windows.
- `SlidingWindows(difference)`: windows that end at a record, as in Kafka Streams.
- `SessionWindows(gap)`: from a key's first record until it has had no record for the gap.
- `CalendarWindows(unit)`: days, weeks, months, quarters, years of a time zone.
- `UnlimitedWindows()`: one window without an end. `TimeWindows`: the protocol for custom windows.

`windowed_aggregate(windows, aggregator, store=...)` is the operator; `emit=` (`kstreams.emit`)
determines when it forwards results. The key of a result is a `Windowed`, which the serde
`windowed(key, windows)` encodes in the format of Kafka Streams. `split_late` adds an output for
late records. `suppress` is in `kstreams.emit`, `minutes(1)` in `kstreams.durations`.

Example:
    >>> from kstreams import INT64, TEXT
    >>> from kstreams.aggregators import count
    >>> from kstreams.durations import minutes, seconds
    >>> from kstreams.stores import window_store
    >>> from kstreams.windows import TumblingWindows, windowed_aggregate
    >>> per_minute = windowed_aggregate(
    ...     TumblingWindows(minutes(1), grace=seconds(10)),
    ...     count(),
    ...     store=window_store("per-minute", key=TEXT, value=INT64),
    ... )
"""

from __future__ import annotations

from kstreams.windowed import NEVER_ENDS, Windowed
from kstreams.windows.aggregate import windowed_aggregate
from kstreams.windows.contract import Closing, TimeWindows
from kstreams.windows.engine import windowed
from kstreams.windows.kinds.calendar import CalendarUnit, CalendarWindows, Weekday
from kstreams.windows.kinds.hopping import HoppingWindows
from kstreams.windows.kinds.session import SessionWindows
from kstreams.windows.kinds.sliding import SlidingWindows
from kstreams.windows.kinds.tumbling import TumblingWindows
from kstreams.windows.kinds.unlimited import UnlimitedWindows
from kstreams.windows.late import Late
from kstreams.windows.split_late import split_late
from kstreams.windows.supplier import WindowedSupplier

__all__ = (
    "NEVER_ENDS",
    "CalendarUnit",
    "CalendarWindows",
    "Closing",
    "HoppingWindows",
    "Late",
    "SessionWindows",
    "SlidingWindows",
    "TimeWindows",
    "TumblingWindows",
    "UnlimitedWindows",
    "Weekday",
    "Windowed",
    "WindowedSupplier",
    "split_late",
    "windowed",
    "windowed_aggregate",
)
