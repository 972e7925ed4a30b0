"""The length of each visit: sessions that end after half an hour without a click.

python examples/sessions.py
"""

from __future__ import annotations

from kstreams import INT64, TEXT, Topic, TopologyBuilder
from kstreams.aggregators import count
from kstreams.durations import minutes
from kstreams.emit import on_close
from kstreams.stores import session_store
from kstreams.testing import TopologyTestDriver
from kstreams.windows import SessionWindows, windowed, windowed_aggregate

SESSIONS = SessionWindows(minutes(30))
CLICKS = Topic("clicks", key=TEXT, value=TEXT)
VISITS = Topic("visits", key=windowed(TEXT, SESSIONS), value=INT64)

builder = TopologyBuilder("sessions")
clicks = builder.add_source("clicks", CLICKS)
visits = builder.add_processor(
    "count",
    windowed_aggregate(
        SESSIONS, count(), store=session_store("visits", key=TEXT, value=INT64), emit=on_close()
    ),
    clicks,
)
builder.add_sink("visits", VISITS, visits)
topology = builder.build()

if __name__ == "__main__":
    minute = 60_000
    with TopologyTestDriver(topology) as driver:
        for at in (0, 5, 20, 120, 125):
            driver.pipe(CLICKS, "ann", "/", timestamp=at * minute)
        driver.close_windows()  # as at the end of a run: the last session is still open
        for visit in driver.read(VISITS):
            stayed = (visit.key.end_ms - visit.key.start_ms) // minute
            print(f"{visit.key.key}: {visit.value} clicks in {stayed} minutes")
