from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone

import pytest

from kstreams.clock import FakeClock, SystemClock, to_ms


def test_the_fake_clock_moves_when_told() -> None:
    clock = FakeClock(5)
    clock.advance(timedelta(seconds=1))
    assert clock.now_ms() == 1_005


def test_no_clock_moves_back() -> None:
    with pytest.raises(ValueError, match="a clock moves forward only"):
        FakeClock().advance(timedelta(seconds=-1))


def test_the_system_clock_tells_the_machines_time() -> None:
    before = time.time_ns() // 1_000_000  # noqa: TID251  # what it is compared with
    assert 0 <= SystemClock().now_ms() - before < 60_000


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (timedelta(seconds=1, microseconds=1_999), 1_001),
        (timedelta(microseconds=-1), -1),
        (datetime(1970, 1, 1, tzinfo=timezone.utc), 0),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
        (datetime(2024, 2, 29, 12, 0, 0, 1_500, tzinfo=timezone.utc), 1_709_208_000_001),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=timezone.utc), -1),
    ],
)
def test_spans_and_times_in_whole_milliseconds(value: timedelta | datetime, expected: int) -> None:
    assert to_ms(value) == expected


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        to_ms(datetime(2024, 1, 1))
