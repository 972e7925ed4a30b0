"""Clocks: fake, of the system, and a wrapper that detects clock changes."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone

import pytest

from kstreams.clock import FakeClock, SystemClock, WatchedClock, steady_ms, to_ms


def test_fake_clock_advances_on_request() -> None:
    clock = FakeClock(5)
    clock.advance(timedelta(seconds=1))
    assert clock.now_ms() == 1_005


def test_clock_cannot_advance_backwards() -> None:
    with pytest.raises(ValueError, match="a clock can only be advanced forward"):
        FakeClock().advance(timedelta(seconds=-1))


def test_system_clock_returns_time_of_machine() -> None:
    before = time.time_ns() // 1_000_000  # noqa: TID251  # the reference
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
def test_timedeltas_and_datetimes_are_converted_to_whole_milliseconds(
    value: timedelta | datetime, expected: int
) -> None:
    assert to_ms(value) == expected


def test_time_without_zone_is_rejected() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        to_ms(datetime(2024, 1, 1))


YEARS = timedelta(days=3653)


def test_fake_clock_can_be_set_without_elapsing_time() -> None:
    clock = FakeClock(5)
    clock.jump(YEARS)
    assert (clock.now_ms(), clock.steady_ms()) == (5 + to_ms(YEARS), 0)
    clock.jump(-YEARS)
    assert (clock.now_ms(), clock.steady_ms()) == (5, 0)


def test_watched_clock_detects_jump_but_not_elapsed_time() -> None:
    clock = FakeClock(5)
    watched = WatchedClock(clock)
    clock.advance(YEARS)
    assert watched.now_ms() == clock.now_ms()
    assert (watched.since_ms, watched.set_ms) == (5, None)
    for by in (YEARS, -2 * YEARS, timedelta(minutes=1)):
        clock.jump(by)
        assert watched.now_ms() == watched.since_ms == watched.set_ms == clock.now_ms()


def test_watched_clock_ignores_adjustments_of_one_second() -> None:
    clock = FakeClock(5)
    watched = WatchedClock(clock)
    for _ in range(100):
        clock.jump(timedelta(seconds=1))
        watched.now_ms()
    assert watched.set_ms is None


def test_watched_clock_without_monotonic_time_detects_only_backward_jump() -> None:
    class Shown:
        now = 5

        def now_ms(self) -> int:
            return self.now

    clock = Shown()
    watched = WatchedClock(clock)
    clock.now += to_ms(YEARS)
    assert (watched.now_ms(), watched.set_ms) == (clock.now, None)
    assert steady_ms(clock) == clock.now
    clock.now -= to_ms(YEARS)
    assert watched.now_ms() == watched.set_ms == 5


def test_steady_time_of_system_clock_increases() -> None:
    clock = SystemClock()
    first = clock.steady_ms()
    assert 0 <= clock.steady_ms() - first < 60_000
    assert steady_ms(clock) - first < 60_000
