"""Custom windows: the shifts of a factory, which start at 04:00, 12:00 and 20:00 UTC.

python examples/custom_window.py
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from kstreams import INT64, TEXT, Topic, TopologyBuilder
from kstreams.aggregators import count
from kstreams.stores import window_store
from kstreams.testing import TopologyTestDriver
from kstreams.topology import to_function
from kstreams.windows import windowed_aggregate

HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Shifts:
    """Windows of eight hours; implements the four members of `kstreams.windows.TimeWindows`."""

    close_delay_ms: int = 0
    close_interval_ms: int = HOUR_MS

    def starts(self, timestamp_ms: int) -> tuple[int, ...]:
        return ((timestamp_ms - 4 * HOUR_MS) // (8 * HOUR_MS) * (8 * HOUR_MS) + 4 * HOUR_MS,)

    def end(self, start_ms: int) -> int:
        return start_ms + 8 * HOUR_MS


PARTS = Topic("parts", key=TEXT, value=TEXT)
builder = TopologyBuilder("shifts")
parts = builder.add_source("parts", PARTS)
counting = windowed_aggregate(
    Shifts(), count(), store=window_store("parts-of-shift", key=TEXT, value=INT64)
)
made = builder.add_processor("count", counting, parts)
builder.add_sink(
    "show", to_function(lambda record: print(shown(record.key.start_ms), record.value)), made
)
topology = builder.build()


def shown(start_ms: int) -> str:
    return datetime.fromtimestamp(start_ms / 1000, timezone.utc).strftime("shift from %H:%M")


if __name__ == "__main__":
    with TopologyTestDriver(topology) as driver:
        for hour in (5, 11, 12):
            driver.pipe(PARTS, "press-1", "part", timestamp=hour * HOUR_MS)
