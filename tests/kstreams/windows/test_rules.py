"""The rules of windows apply equally to numbers and to columns of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.windows.rules import (
    by_end,
    by_start,
    close_time,
    closed_end,
    interval_end,
    last_sliding_end,
    lateness_time,
    refusing_window,
)

TIMES = st.lists(st.integers(0, 1 << 40), min_size=1, max_size=20)
SPANS = st.integers(1, 1 << 20)

RULES = {
    "lateness_time": lateness_time,
    "closed_end": closed_end,
    "close_time": close_time,
    "last_sliding_end": last_sliding_end,
    "refusing_window": refusing_window,
    "interval_end": interval_end,
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@given(TIMES, SPANS)
def test_window_rule_gives_same_values_for_column_and_for_single_times(
    rule: Any, times: list[int], span: int
) -> None:
    of_column = np.array(rule(np.array(times), span)).T.tolist()
    of_each = np.array([rule(time, span) for time in times]).tolist()
    assert of_column == of_each


@given(st.integers(0, 1 << 40), SPANS)
def test_window_closes_exactly_at_its_close_time(end: int, delay: int) -> None:
    closes = close_time(end, delay)
    assert end <= closed_end(closes, delay)
    assert not end <= closed_end(closes - 1, delay)


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 20))
def test_window_reported_for_late_record_contains_its_time(time: int, span: int) -> None:
    start, end = refusing_window(time, span)
    assert 0 <= start <= time <= end == start + span


@given(st.integers(0, 1 << 40), SPANS)
def test_interval_end_is_next_multiple_of_interval_after_time(now: int, interval: int) -> None:
    due = interval_end(now, interval)
    assert now < due <= now + interval
    assert due % interval == 0


def test_final_results_are_sorted_by_start_and_of_sessions_by_end() -> None:
    assert by_start(1, b"b") < by_start(2, b"a")
    assert by_start(1, b"a") < by_start(1, b"b")
    assert by_end(5, 1, b"b") < by_end(6, 0, b"a")
    assert by_end(5, 1, b"b") < by_end(5, 2, b"a")
