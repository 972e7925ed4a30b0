"""Names of windows: distinct for distinct windows, and independent of the grace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from itertools import combinations
from typing import Any
from zoneinfo import available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kstreams.windows
from kstreams.durations import days, forever, hours, minutes, seconds
from kstreams.names import name_problem
from kstreams.windows import (
    CalendarWindows,
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    UnlimitedWindows,
)
from kstreams.windows.contract import windows_name
from tests.kstreams.windows.test_engine import Sevens

NAMES: dict[str, Any] = {
    "per-1m": TumblingWindows(minutes(1)),
    "per-1d": TumblingWindows(days(1)),
    "per-5m-every-1m": HoppingWindows(minutes(5), minutes(1)),
    "within-90s": SlidingWindows(seconds(90)),
    "sessions-30m": SessionWindows(minutes(30)),
    "sessions-0s": SessionWindows(timedelta(0)),
    "per-day": CalendarWindows("day"),
    "per-3-month": CalendarWindows("month", 3),
    "per-month-europe-berlin": CalendarWindows("month", tz="Europe/Berlin"),
    "per-week-from-sunday": CalendarWindows("week", week_start="sunday"),
    "per-week-from-sunday-america-new-york": CalendarWindows(
        "week", week_start="sunday", tz="America/New_York"
    ),
    "unlimited": UnlimitedWindows(),
    "unlimited-from-1000": UnlimitedWindows(datetime.fromtimestamp(1, timezone.utc)),
    "sevens": Sevens(),
}

spans = st.sampled_from([seconds(1), seconds(60), seconds(90), minutes(2), hours(1), days(1)])
zones = st.sampled_from(["UTC", "Europe/Berlin", "Europe/Paris", "Etc/GMT+1", "Etc/GMT-1"])


def hopping(size: timedelta, parts: int) -> HoppingWindows:
    return HoppingWindows(size * parts, size)


kinds: st.SearchStrategy[Any] = st.one_of(
    st.builds(TumblingWindows, spans),
    st.builds(hopping, spans, st.integers(1, 3)),
    st.builds(SlidingWindows, spans),
    st.builds(SessionWindows, spans),
    st.builds(
        CalendarWindows,
        st.sampled_from(["day", "month", "quarter", "year"]),
        st.integers(1, 12),
        tz=zones,
    ),
    st.builds(
        CalendarWindows,
        st.just("week"),
        st.integers(1, 2),
        tz=zones,
        week_start=st.sampled_from(["monday", "saturday", "sunday"]),
    ),
    st.builds(
        UnlimitedWindows,
        st.integers(1, 10).map(lambda at: datetime.fromtimestamp(at, timezone.utc)),
    ),
)


@dataclass(frozen=True)
class Shifts(Sevens):
    """Windows of another package, which have a name."""

    length: int = 6

    @property
    def name(self) -> str:
        return f"shifts-{self.length}h"


@pytest.mark.parametrize("name", NAMES)
def test_windows_name_has_the_kind_and_its_sizes(name: str) -> None:
    assert windows_name(NAMES[name]) == name


def test_windows_name_of_a_custom_kind_is_its_own_name() -> None:
    assert windows_name(Shifts(length=8)) == "shifts-8h"


@given(one=kinds, other=kinds)
def test_names_are_equal_only_if_windows_are_equal(one: Any, other: Any) -> None:
    assert (windows_name(one) == windows_name(other)) == (one == other)


@given(windows=kinds, grace=st.sampled_from([timedelta(0), seconds(1), days(3), forever]))
def test_grace_does_not_change_the_name(windows: Any, grace: timedelta) -> None:
    if isinstance(windows, UnlimitedWindows):  # it has no grace
        return
    assert windows_name(replace(windows, grace=grace)) == windows_name(windows)


@given(windows=kinds)
def test_name_is_valid_as_a_part_of_a_store_name(windows: Any) -> None:
    assert not name_problem(windows_name(windows))


def test_names_of_all_time_zones_are_distinct() -> None:
    zones = sorted(available_timezones())
    assert len({CalendarWindows("day", tz=zone).name for zone in zones}) == len(zones)


def test_windows_with_different_definitions_have_different_names() -> None:
    assert all(windows_name(a) != windows_name(b) for a, b in combinations(NAMES.values(), 2))


def test_each_public_kind_states_its_name() -> None:
    public = [getattr(kstreams.windows, name) for name in kstreams.windows.__all__]
    kinds = [kind for kind in public if "kinds" in getattr(kind, "__module__", "")]
    assert {kind for kind in kinds if isinstance(kind, type)} <= {
        type(windows) for windows in NAMES.values()
    }
