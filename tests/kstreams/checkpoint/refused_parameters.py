"""Parameter changes that an upgrade rejects, because stored rows would be misread."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from kstreams import BYTES, INT64, Topology
from kstreams.aggregators import (
    collect,
    combine,
    count,
    field,
    fold,
    max_,
    min_,
    over,
    reducing,
    sum_,
    top_n,
)
from kstreams.durations import milliseconds, minutes, seconds
from kstreams.emit import (
    each_update,
    on_close,
    until_time_limit,
    until_window_closes,
)
from kstreams.operators import by_header
from kstreams.windows import (
    CalendarWindows,
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    UnlimitedWindows,
)
from tests.kstreams.checkpoint.upgrade_topologies import (
    aggregated,
    deduplicated,
    suppressed,
    windowed_keys,
    windows_of,
)

__all__ = ("BY_NAME", "MINUTE", "REFUSED", "tumbling")

MINUTE = 60_000


@dataclass(frozen=True)
class Shifts:
    """Custom windows with a length and an offset."""

    length: timedelta
    offset: timedelta = timedelta(0)
    close_delay_ms = 0
    close_interval_ms = 1

    def starts(self, timestamp_ms: int) -> list[int]:
        length, offset = self.length // milliseconds(1), self.offset // milliseconds(1)
        return [(timestamp_ms - offset) // length * length + offset]

    def end(self, start_ms: int) -> int:
        return start_ms + self.length // milliseconds(1)


@dataclass(frozen=True)
class Quantile:
    """A custom aggregator with a parameter."""

    share: float
    state: Any = collect(INT64).state

    def init(self, record: Any) -> tuple[int, ...]:
        return (record.value,)

    def add(self, state: tuple[int, ...], record: Any) -> tuple[int, ...]:
        return (*state, record.value)

    def merge(self, earlier: tuple[int, ...], later: tuple[int, ...]) -> tuple[int, ...]:
        return earlier + later

    def result(self, state: tuple[int, ...]) -> int:
        return sorted(state)[int(self.share * (len(state) - 1))]


def tumbling(span: timedelta, grace: timedelta = timedelta(0)) -> TumblingWindows:
    return TumblingWindows(span, grace=grace)


def closing(windows: Any, aggregator: Any = None) -> Topology:
    return windows_of(windows, aggregator or count(), on_close())


def day(hour: int) -> datetime:
    return datetime(1970, 1, 1, hour, tzinfo=timezone.utc)


FOLD: Any = fold(INT64, int, lambda state, record: state + record.value, merge=int.__add__)
REDUCE = reducing(int.__add__, INT64)

REFUSED: list[tuple[str, Topology, Topology, str]] = [
    (
        "tumbling-size",
        closing(tumbling(minutes(1))),
        closing(tumbling(minutes(7))),
        "windows size was 0:01:00, now 0:07:00",
    ),
    (
        "tumbling-size-known-to-the-store",
        windows_of(tumbling(minutes(1)), count(), on_close(), known=True),
        windows_of(tumbling(minutes(7)), count(), on_close(), known=True),
        "windows size was 0:01:00, now 0:07:00",
    ),
    (
        "hopping-advance",
        closing(HoppingWindows(minutes(2), minutes(1))),
        closing(HoppingWindows(minutes(2), seconds(30))),
        "windows advance was 0:01:00, now 0:00:30",
    ),
    (
        "window-kind",
        closing(tumbling(minutes(1))),
        closing(HoppingWindows(minutes(1), seconds(30))),
        "windows was TumblingWindows, now HoppingWindows",
    ),
    (
        "sliding-difference",
        closing(SlidingWindows(minutes(1))),
        closing(SlidingWindows(minutes(2))),
        "windows difference was 0:01:00, now 0:02:00",
    ),
    (
        "session-gap",
        closing(SessionWindows(minutes(1))),
        closing(SessionWindows(minutes(2))),
        "windows gap was 0:01:00, now 0:02:00",
    ),
    (
        "unlimited-start",
        windows_of(UnlimitedWindows(), count(), each_update()),
        windows_of(UnlimitedWindows(day(1)), count(), each_update()),
        "windows start was none, now 1970-01-01T01:00:00+00:00",
    ),
    (
        "calendar-unit",
        closing(CalendarWindows("day")),
        closing(CalendarWindows("week")),
        "windows unit was day, now week",
    ),
    (
        "calendar-count",
        closing(CalendarWindows("day")),
        closing(CalendarWindows("day", 2)),
        "windows count was 1, now 2",
    ),
    (
        "calendar-zone",
        closing(CalendarWindows("day")),
        closing(CalendarWindows("day", tz="Europe/Berlin")),
        "windows tz was UTC, now Europe/Berlin",
    ),
    (
        "calendar-week",
        closing(CalendarWindows("week")),
        closing(CalendarWindows("week", week_start="sunday")),
        "windows week_start was monday, now sunday",
    ),
    (
        "custom-windows-offset",
        closing(Shifts(minutes(6))),
        closing(Shifts(minutes(6), minutes(1))),
        "windows offset was 0:00:00, now 0:01:00",
    ),
    (
        "windowed-keys",
        windowed_keys(tumbling(minutes(1))),
        windowed_keys(tumbling(minutes(7))),
        "key windows size was 0:01:00, now 0:07:00",
    ),
    ("aggregator", aggregated(count()), aggregated(sum_(INT64)), "aggregator was count, now sum"),
    ("extreme", aggregated(min_(INT64)), aggregated(max_(INT64)), "aggregator was min, now max"),
    ("fold", aggregated(FOLD), aggregated(REDUCE), "aggregator was fold, now reducing"),
    (
        "windowed-aggregator",
        closing(tumbling(minutes(1)), count()),
        closing(tumbling(minutes(1)), sum_(INT64)),
        "aggregator was count, now sum",
    ),
    (
        "top-n",
        aggregated(top_n(2, INT64)),
        aggregated(top_n(3, INT64)),
        "aggregator was top_n(2), now top_n(3)",
    ),
    (
        "top-n-by",
        aggregated(top_n(2, INT64)),
        aggregated(top_n(2, INT64, by=lambda value: -value)),
        "aggregator was top_n(2), now top_n(2, by a function)",
    ),
    (
        "field",
        aggregated(over(field("real", INT64), sum_(INT64))),
        aggregated(over(field("imag", INT64), sum_(INT64))),
        "aggregator was sum of field 'real', now sum of field 'imag'",
    ),
    (
        "combine-order",
        aggregated(combine(count(), sum_(INT64))),
        aggregated(combine(sum_(INT64), count())),
        "aggregator was combine(count, sum), now combine(sum, count)",
    ),
    (
        "custom-aggregator",
        aggregated(Quantile(0.5)),
        aggregated(Quantile(0.9)),
        "aggregator was Quantile(share='0.5'), now Quantile(share='0.9')",
    ),
    (
        "deduplicate-id",
        deduplicated(10, by_header("a"), BYTES),
        deduplicated(10, by_header("b"), BYTES),
        "deduplicate id was header 'a', now header 'b'",
    ),
    (
        "suppress-condition",
        suppressed(until_time_limit(milliseconds(5))),
        suppressed(until_window_closes(tumbling(minutes(1)))),
        "suppress until was time limit, now window closes",
    ),
]

BY_NAME = {case[0]: case for case in REFUSED}
