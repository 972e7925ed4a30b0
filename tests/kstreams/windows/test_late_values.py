"""A grace that is longer by more than its lateness accepts a late record."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import TEXT, Topic
from kstreams.durations import milliseconds
from kstreams.streams import Streams
from kstreams.testing import TopologyTestDriver
from kstreams.windows import (
    HoppingWindows,
    Late,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
)

TEXTS = Topic("texts", key=TEXT, value=TEXT)
SIZE = milliseconds(50)
KINDS: dict[str, Callable[[timedelta], Any]] = {
    "tumbling": lambda grace: TumblingWindows(SIZE, grace=grace),
    "hopping": lambda grace: HoppingWindows(SIZE, milliseconds(25), grace=grace),
    "sliding": lambda grace: SlidingWindows(SIZE, grace=grace),
    "session": lambda grace: SessionWindows(SIZE, grace=grace),
}


def late_of(windows: Any, stream_time: int, time: int) -> list[Late[str]]:
    """Return the late records of a record at a time, after one of another key at stream time."""
    found: list[Late[str]] = []
    streams = Streams("late")
    counts: Any = streams.stream(TEXTS).group_by_key().windowed_by(windows).count()
    counts.late.peek(lambda _, late: found.append(late))
    with TopologyTestDriver(streams.build(), partitions=1) as driver:
        driver.pipe(TEXTS, "other", "", timestamp=stream_time)
        driver.pipe(TEXTS, "late", "", timestamp=time)
    return found


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)  # up to four runs each
@given(
    grace=st.integers(0, 30),
    stream_time=st.integers(100, 400),
    behind=st.integers(1, 300),
)
def test_grace_longer_by_more_than_the_lateness_accepts_the_record(
    kind: str, grace: int, stream_time: int, behind: int
) -> None:
    time = max(0, stream_time - behind)
    found = late_of(KINDS[kind](milliseconds(grace)), stream_time, time)
    for late in found:
        assert late.stream_time_ms == stream_time
        assert late.lateness_ms >= 0
        window = (late.start_ms, late.end_ms)
        same = late_of(KINDS[kind](milliseconds(grace + late.lateness_ms)), stream_time, time)
        longer = late_of(KINDS[kind](milliseconds(grace + late.lateness_ms + 1)), stream_time, time)
        if kind != "sliding":  # a later window may still be open
            assert window in {(each.start_ms, each.end_ms) for each in same}
        assert window not in {(each.start_ms, each.end_ms) for each in longer}
