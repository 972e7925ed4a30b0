"""Points in time are written and read unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams_admin.moments import iso, ms_of


@given(st.integers(min_value=0, max_value=253_402_300_799_999))
def test_time_printed_as_text_is_parsed_to_same_time(ms: int) -> None:
    assert ms_of(iso(ms)) == ms


def test_times_out_of_datetime_range_are_printed_as_numbers() -> None:
    assert iso(1 << 60) == f"@{1 << 60}"
    assert iso(-1) == "1969-12-31T23:59:59.999Z"


@pytest.mark.parametrize("text", ["", "now", "@", "@x", "2024-13-01", "²"])
def test_text_that_is_not_a_point_in_time_raises(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the message of datetime varies
        ms_of(text)
