"""Approximate distinct counts in bounded space (HyperLogLog)."""

from __future__ import annotations

import pickle
from functools import reduce
from typing import Any

import pytest

from kstreams import INT64, TEXT
from kstreams.aggregators import approx_count_distinct, count_distinct
from kstreams.durations import milliseconds
from kstreams.emit import on_close
from kstreams.errors import DeserializationError
from kstreams.record import Record
from kstreams.windows import SessionWindows, SlidingWindows, TumblingWindows
from tests.support.windows.windowed_runs import Row, run

ABOUT: Any = approx_count_distinct(INT64)


def state_of(values: range, how: Any = ABOUT) -> bytes:
    records = [Record("k", value, 0) for value in values]
    state: bytes = reduce(how.add, records[1:], how.init(records[0]))
    return state


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 2, 100, 5000, 50_000])
def test_approximate_count_is_within_four_standard_errors(count: int) -> None:
    assert ABOUT.result(state_of(range(count))) == pytest.approx(count, rel=4 * 1.04 / 64)


def test_equal_values_are_counted_once() -> None:
    state = state_of(range(50))
    for _ in range(3):
        state = reduce(ABOUT.add, [Record("k", value, 0) for value in range(50)], state)
    assert ABOUT.result(state) == 50


def test_merge_counts_values_of_both_states_once() -> None:
    merged = ABOUT.merge(state_of(range(3000)), state_of(range(2000, 6000)))
    assert ABOUT.result(merged) == pytest.approx(6000, rel=0.065)


def test_size_of_state_is_bounded_by_precision() -> None:
    coarse: Any = approx_count_distinct(INT64, precision=8)
    assert len(state_of(range(5000), coarse)) < 400
    assert len(state_of(range(5000))) < 5000


def test_add_leaves_given_state_unchanged() -> None:
    before = state_of(range(10))
    kept = bytes(before)
    ABOUT.add(before, Record("k", 10**9, 0))
    assert before == kept


def test_empty_text_counts_as_value() -> None:
    about: Any = approx_count_distinct(TEXT)
    state = about.add(about.init(Record("k", "", 0)), Record("k", "ä", 0))
    assert about.result(state) == 2


def test_state_serde_rejects_state_of_another_precision() -> None:
    serde = ABOUT.state
    state = state_of(range(100))
    assert serde.deserialize(serde.serialize(state)) == state
    assert pickle.loads(pickle.dumps(serde)) == serde
    other: Any = approx_count_distinct(INT64, precision=9)
    assert serde != other.state
    with pytest.raises(DeserializationError, match="has precision 9, expected 12"):
        serde.deserialize(state_of(range(9), other))
    with pytest.raises(DeserializationError, match="expected an HLL sketch"):
        serde.deserialize(b"no sketch")


@pytest.mark.parametrize("precision", [3, 22])
def test_precision_out_of_range_is_rejected(precision: int) -> None:
    with pytest.raises(ValueError, match="precision"):
        approx_count_distinct(INT64, precision=precision)


@pytest.mark.parametrize(
    "windows",
    [
        TumblingWindows(milliseconds(50)),
        SessionWindows(milliseconds(10), grace=milliseconds(50)),
        SlidingWindows(milliseconds(10), grace=milliseconds(50)),
    ],
)
def test_window_of_few_values_has_exact_count(windows: Any) -> None:
    rows: list[Row] = [("k", value % 7, time) for value, time in enumerate(range(0, 100, 3))]
    rows = [*rows[::2], *rows[1::2], ("end", 0, 10**6)]
    exact = run(windows, on_close(), rows, [5, 20], count_distinct(INT64), result=INT64)
    assert run(windows, on_close(), rows, [5, 20], ABOUT, result=INT64) == exact
