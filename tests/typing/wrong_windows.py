"""Every line marked red must be refused by both type checkers, and no other line."""

from __future__ import annotations

from kstreams import BYTES, INT64, TEXT, Topic, TopologyBuilder
from kstreams.aggregators import collect, count, mean, over, sum_
from kstreams.durations import minutes
from kstreams.emit import suppress, until_time_limit, until_window_closes
from kstreams.processors.aggregate import aggregate, reduce
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.window.kind import window_store
from kstreams.topology import wall_clock
from kstreams.windows import (
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    windowed,
    windowed_aggregate,
)

b = TopologyBuilder("wrong")
clicks = b.add_source("clicks", Topic("clicks", TEXT, INT64))
words = b.add_source("words", Topic("words", TEXT, TEXT))
MINUTE = TumblingWindows(minutes(1))
GAP = SessionWindows(minutes(1))
GAPS = windowed(TEXT, GAP)
COUNTS = window_store("counts", key=TEXT, value=INT64)
TEXTS = window_store("texts", key=TEXT, value=TEXT)
SLICES = sliding_store("slices", key=TEXT, value=INT64)
SESSIONS = session_store("sessions", key=TEXT, value=INT64)
TOTALS = timestamped_store("totals", key=TEXT, value=INT64)
HELD = buffer_store("held", key=windowed(TEXT, MINUTE), value=INT64)
PLAIN = buffer_store("plain", key=TEXT, value=INT64)
COUNTED = Topic("counted", windowed(TEXT, MINUTE), INT64)

counted = b.add_processor("c", windowed_aggregate(MINUTE, count(), store=COUNTS), clicks)
sessions = b.add_processor("s", windowed_aggregate(GAP, count(), store=SESSIONS), clicks)

windowed_aggregate(MINUTE, count(), store=TEXTS)  # red
windowed_aggregate(MINUTE, count(), store=SLICES)  # red
windowed_aggregate(MINUTE, count(), store=SESSIONS)  # red
windowed_aggregate(MINUTE, mean(), store=COUNTS)  # red
windowed_aggregate(MINUTE, collect(INT64), store=COUNTS)  # red
windowed_aggregate(SlidingWindows(minutes(1)), count(), store=COUNTS)  # red
windowed_aggregate(GAP, count(), store=COUNTS)  # red
windowed_aggregate(minutes(1), count(), store=COUNTS)  # red
windowed_aggregate(MINUTE, count, store=COUNTS)  # red
windowed_aggregate(MINUTE, count())  # red
windowed_aggregate(MINUTE, count(), store=COUNTS, emit="close")  # red
b.add_processor("p", windowed_aggregate(MINUTE, sum_(INT64), store=COUNTS), words)  # red
LENGTHS = windowed_aggregate(MINUTE, over(len, sum_(INT64)), store=COUNTS)
b.add_processor("p", LENGTHS, clicks)  # red
b.add_sink("o", Topic("o", TEXT, INT64), counted)  # red
b.add_sink("o", Topic("o", windowed(BYTES, MINUTE), INT64), counted)  # red
b.add_sink("o", Topic("o", windowed(TEXT, MINUTE), TEXT), counted)  # red
b.add_sink("o", COUNTED, sessions)  # red
b.add_processor("p", aggregate(sum_(INT64), store=TOTALS), words)  # red
aggregate(mean(), store=TOTALS)  # red
aggregate(count(), store=COUNTS)  # red
reduce(len, store=TOTALS)  # red
suppress(until_window_closes(MINUTE), store=PLAIN)  # red
suppress(until_window_closes(MINUTE), store=COUNTS)  # red
suppress(until_window_closes(minutes(1)), store=HELD)  # red
SLOWLY = suppress(until_time_limit(minutes(1)), store=buffer_store("s", key=GAPS, value=INT64))
b.add_processor("p", SLOWLY, sessions)  # red
b.add_source("s", Topic("s", TEXT, INT64), event_time=lambda record: record.value.year)  # red
b.add_source("s", Topic("s", TEXT, INT64), event_time=lambda record: str(record.value))  # red
b.add_source("s", Topic("s", TEXT, INT64), event_time=wall_clock)  # red
b.add_source("s", Topic("s", TEXT, INT64), event_time=wall_clock(), invalid_time="no")  # red
TumblingWindows(60)  # red
TumblingWindows(minutes(1), minutes(1))  # red
sum_(TEXT)  # red
