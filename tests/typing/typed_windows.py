"""Windowed aggregation infers its types from windows, aggregator, store and parents."""

from __future__ import annotations

from typing import NamedTuple

from typing_extensions import assert_type

from kstreams import INT64, TEXT, Node, Record, Topic, TopologyBuilder
from kstreams.aggregators import (
    NamedResults,
    collect,
    combine,
    count,
    count_distinct,
    fold,
    last,
    max_,
    mean,
    over,
    reducing,
    sum_,
    top_n,
)
from kstreams.durations import minutes, seconds
from kstreams.emit import (
    at_most_every,
    every,
    on_close,
    suppress,
    until_time_limit,
    until_window_closes,
)
from kstreams.processors.aggregate import aggregate, reduce
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.window.kind import window_store
from kstreams.topology import wall_clock
from kstreams.windows import (
    CalendarWindows,
    HoppingWindows,
    Late,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    UnlimitedWindows,
    Windowed,
    split_late,
    windowed,
    windowed_aggregate,
)

b = TopologyBuilder("windows")
clicks = b.add_source("clicks", Topic("clicks", TEXT, INT64))
words = b.add_source("words", Topic("words", TEXT, TEXT))
MINUTE = TumblingWindows(minutes(1), grace=seconds(10))
COUNTS = window_store("counts", key=TEXT, value=INT64)
LISTS = window_store("lists", key=TEXT, value=collect(INT64).state)

per_minute = b.add_processor(
    "per-minute",
    windowed_aggregate(MINUTE, count(), store=window_store("per-minute", key=TEXT, value=INT64)),
    clicks,
)
assert_type(per_minute, Node[Windowed[str], int])
b.add_sink("out", Topic("out", windowed(TEXT, MINUTE), INT64), per_minute)

hop = HoppingWindows(minutes(5), minutes(1))
hopping = b.add_processor("hop", windowed_aggregate(hop, sum_(INT64), store=COUNTS), clicks)
assert_type(hopping, Node[Windowed[str], int])
day = CalendarWindows("day", tz="Europe/Berlin")
days = b.add_processor("day", windowed_aggregate(day, collect(INT64), store=LISTS), clicks)
assert_type(days, Node[Windowed[str], tuple[int, ...]])
ever = windowed_aggregate(UnlimitedWindows(), max_(INT64), store=COUNTS)
assert_type(b.add_processor("ever", ever, clicks), Node[Windowed[str], int])

average = mean()
means = window_store("means", key=TEXT, value=average.state)
averages = b.add_processor("means", windowed_aggregate(MINUTE, average, store=means), clicks)
assert_type(averages, Node[Windowed[str], float])

SLICES = sliding_store("slices", key=TEXT, value=INT64)
sliding = windowed_aggregate(SlidingWindows(minutes(1)), count(), store=SLICES)
assert_type(b.add_processor("sliding", sliding, words), Node[Windowed[str], int])

SESSIONS = session_store("sessions", key=TEXT, value=INT64)
gap = SessionWindows(minutes(5))
sessions = b.add_processor("sessions", windowed_aggregate(gap, count(), store=SESSIONS), clicks)
assert_type(sessions, Node[Windowed[str], "int | None"])
finals = windowed_aggregate(gap, count(), store=SESSIONS, emit=on_close())
assert_type(b.add_processor("finals", finals, clicks), Node[Windowed[str], int])

held = buffer_store("held", key=windowed(TEXT, gap), value=INT64)
closed = b.add_processor("closed", suppress(until_window_closes(gap), store=held), sessions)
assert_type(closed, Node[Windowed[str], int])
rows = buffer_store("rows", key=TEXT, value=TEXT)
slow = b.add_processor("slow", suppress(until_time_limit(minutes(1)), store=rows), words)
assert_type(slow, Node[str, str])
updates = b.add_processor("updates", windowed_aggregate(gap, count(), store=SESSIONS), clicks)
tombstones = buffer_store("tombstones", key=windowed(TEXT, gap), value=INT64, nullable=True)
late_ones = suppress(until_time_limit(minutes(1)), store=tombstones)
slowly = b.add_processor("slowly", late_ones, updates)
assert_type(slowly, Node[Windowed[str], "int | None"])
for held_back in (every(minutes(1)), at_most_every(minutes(1))):
    often = windowed_aggregate(gap, count(), store=SESSIONS, emit=held_back)
    assert_type(b.add_processor("often", often, clicks), Node[Windowed[str], "int | None"])
timed = b.add_source(
    "timed",
    Topic("timed", TEXT, INT64),
    event_time=lambda record: record.value if record.key else None,
    invalid_time="skip",
)
assert_type(timed, Node[str, int])
assert_type(b.add_source("now", Topic("t", TEXT, INT64), event_time=wall_clock()), Node[str, int])

letters = over(len, sum_(INT64))
lengths = b.add_processor("letters", windowed_aggregate(MINUTE, letters, store=COUNTS), words)
assert_type(lengths, Node[Windowed[str], int])
both = combine(count(), top_n(3, INT64), count_distinct(INT64))
stats = window_store("stats", key=TEXT, value=both.state)
all_of_them = b.add_processor("stats", windowed_aggregate(MINUTE, both, store=stats), clicks)
assert_type(all_of_them, Node[Windowed[str], tuple[int, tuple[int, ...], int]])
most_clicks, total_clicks = max_(INT64), sum_(INT64)
by_name = combine(clicks=count(), most=most_clicks)
named = window_store("named", key=TEXT, value=by_name.state)
named_stats = b.add_processor("named", windowed_aggregate(MINUTE, by_name, store=named), clicks)
assert_type(named_stats, Node[Windowed[str], NamedResults[int]])


class Stats(NamedTuple):
    """Results by name."""

    clicks: int
    top: tuple[int, ...]


of_class = combine(Stats, clicks=count(), top=top_n(3, INT64))
typed = window_store("typed", key=TEXT, value=of_class.state)
typed_stats = b.add_processor("typed", windowed_aggregate(MINUTE, of_class, store=typed), clicks)
assert_type(typed_stats, Node[Windowed[str], Stats])
invertible = combine(clicks=count(), total=total_clicks)
assert_type(invertible.result((1, 2)).total, int)
latest = last(TEXT)
newest = window_store("latest", key=TEXT, value=latest.state)
assert_type(
    b.add_processor("latest", windowed_aggregate(MINUTE, latest, store=newest), words),
    Node[Windowed[str], str],
)

results, late = split_late(
    b, "split", windowed_aggregate(MINUTE, reducing(max, INT64), store=COUNTS), clicks
)
assert_type(results, Node[Windowed[str], int])
assert_type(late, Node[str, Late[int]])

TOTALS = timestamped_store("totals", key=TEXT, value=INT64)
assert_type(b.add_processor("total", aggregate(count(), store=TOTALS), words), Node[str, int])
assert_type(
    b.add_processor("most", reduce(lambda x, y: max(x, y), store=TOTALS), clicks), Node[str, int]
)


def longer(state: int, record: Record[str, str]) -> int:
    """A fold function."""
    return state + len(record.value)


folded = fold(INT64, int, longer)
assert_type(
    b.add_processor("folded", windowed_aggregate(MINUTE, folded, store=COUNTS), words),
    Node[Windowed[str], int],
)
