"""Overlapping windows by panes give the results of separate windows by records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import DOUBLE, INT64
from kstreams.aggregators import combine, count, first, last, max_, min_, sum_
from kstreams.durations import milliseconds
from kstreams.emit import each_update, on_close, once_per_batch
from kstreams.errors import SerializationError
from kstreams.serde.composite import TupleSerde
from kstreams.windows import HoppingWindows, TumblingWindows
from kstreams.windows.columns import panes, time
from tests.support.windows.compared_executions import cuts_of, keys, values
from tests.support.windows.windowed_runs import Row, run

EDGES: tuple[Any, Any] = combine(first(INT64), last(INT64)), TupleSerde(INT64, INT64)
TOGETHER: tuple[Any, Any] = (
    combine(count(), sum_(INT64), min_(INT64), max_(INT64)),
    TupleSerde(*[INT64] * 4),
)
WINDOWS = HoppingWindows(milliseconds(10), milliseconds(4))
rows_of = st.lists(st.tuples(keys, values, st.integers(0, 40)), max_size=30)


@st.composite
def hopping(draw: st.DrawFn) -> HoppingWindows:
    advance = draw(st.integers(1, 6))
    size = advance * draw(st.integers(1, 4)) + draw(st.sampled_from([0, 0, 1, 3]))
    grace = milliseconds(draw(st.sampled_from([0, 5, 50])))
    return HoppingWindows(milliseconds(size), milliseconds(advance), grace=grace)


@settings(max_examples=60)
@given(
    hopping(),
    st.sampled_from([EDGES, TOGETHER]),
    st.sampled_from([on_close(), once_per_batch()]),
    rows_of,
    st.data(),
)
def test_hopping_windows_by_panes_and_by_records_give_same_results(
    windows: HoppingWindows,
    how: tuple[Any, Any],
    emit: Any,
    rows: list[Row],
    data: st.DataObject,
) -> None:
    aggregator, result = how
    if data.draw(st.booleans()):
        rows = sorted(rows, key=lambda row: row[2])  # then no record is late
    cuts = cuts_of(data, len(rows))
    by_records = run(windows, emit, rows, cuts, aggregator, "records", result)
    by_columns = run(windows, emit, rows, cuts, aggregator, "columns", result)
    assert by_columns[:2] == by_records[:2]


RISING: list[Row] = [("a", 1, 3), ("b", 2, 4), ("a", 3, 5), ("a", 4, 17)]


@pytest.mark.parametrize(
    ("windows", "emit", "aggregator", "rows", "expected"),
    [
        (WINDOWS, once_per_batch(), count(), RISING, [True]),
        (WINDOWS, on_close(), last(INT64), RISING, [True]),
        (WINDOWS, on_close(), count(), [*RISING, ("a", 1, 16)], [True]),
        (WINDOWS, on_close(), count(), [*RISING, ("a", 1, 6)], [False]),
        (WINDOWS, on_close(), count(), [("a", 1, -1), *RISING], [False]),
        (TumblingWindows(milliseconds(4)), on_close(), count(), RISING, [False]),
        (WINDOWS, each_update(), count(), RISING, []),
        (WINDOWS, on_close(), max_(DOUBLE), RISING, []),
        (WINDOWS, on_close(), sum_(DOUBLE), RISING, []),
    ],
    ids=[
        *("batch", "close", "disorder", "late", "early"),
        *("tumbling", "updates", "doubles", "sums-of-doubles"),
    ],
)
def test_hopping_windows_use_panes_only_if_results_are_equal(
    monkeypatch: pytest.MonkeyPatch,
    windows: Any,
    emit: Any,
    aggregator: Any,
    rows: list[Row],
    expected: list[bool],
) -> None:
    made: list[bool] = []

    def noted(*given: Any) -> Any:
        found = panes_of(*given)
        made.append(found is not None)
        return found

    panes_of = panes.panes_of
    monkeypatch.setattr(time, "panes_of", noted)
    result = INT64 if aggregator.state != DOUBLE else DOUBLE
    run(windows, emit, rows, [], aggregator, "auto", result)
    assert made == expected


def test_intermediate_sums_of_panes_may_exceed_int64() -> None:
    most = (1 << 63) - 1
    rows = [("a", most, 4), ("a", most, 5), ("a", -most, 6), ("a", -most, 7)]
    for emit in (once_per_batch(), on_close()):
        by_records = run(WINDOWS, emit, rows, [], sum_(INT64), "records")
        assert run(WINDOWS, emit, rows, [], sum_(INT64), "columns")[:2] == by_records[:2]
    with pytest.raises(SerializationError):
        run(WINDOWS, once_per_batch(), rows[:2], [], sum_(INT64), "columns")
