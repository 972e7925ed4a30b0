"""Limit of windows that contain one record: checked by `build`, and configurable."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import TopologyBuilder
from kstreams.aggregators import count
from kstreams.columns.grouping import grouped
from kstreams.durations import days, hours, milliseconds, minutes, seconds
from kstreams.emit import each_update, on_close, once_per_batch
from kstreams.errors import ProcessingError
from kstreams.errors.building import TopologyError
from kstreams.windows import HoppingWindows, split_late, windowed_aggregate
from kstreams.windows.contract import MAX_WINDOWS
from tests.support.windows.windowed_runs import SOURCE, run, store_for, topology_of

TOO_MANY = HoppingWindows(days(1), milliseconds(100))


def test_build_rejects_windows_with_too_many_windows_per_record() -> None:
    with pytest.raises(TopologyError) as caught:
        topology_of(TOO_MANY, on_close(), count())
    (problem,) = caught.value.problems
    assert problem.startswith("node 'windows': by windows of 1 day, 0:00:00")
    assert "aggregated in 864,000 windows; the maximum is 5,000" in problem
    assert "HoppingWindows(..., max_windows=864_000)" in problem


def test_window_limit_applies_to_aggregation_with_late_branch() -> None:
    builder = TopologyBuilder("t")
    source: Any = builder.add_source("in", SOURCE)
    supplier: Any = windowed_aggregate(TOO_MANY, count(), store=store_for(TOO_MANY, count().state))
    split_late(builder, "hops", supplier, source)
    with pytest.raises(TopologyError, match=r"node 'hops'.*864,000 windows"):
        builder.build()


def test_window_limit_can_be_raised_and_lowered() -> None:
    raised = HoppingWindows(hours(2), seconds(1), max_windows=7_200)
    assert raised == HoppingWindows(hours(2), seconds(1))
    topology_of(raised, on_close(), count())
    with pytest.raises(TopologyError, match="in 60 windows; the maximum is 59"):
        topology_of(HoppingWindows(hours(1), minutes(1), max_windows=59), on_close(), count())
    with pytest.raises(ValueError, match="max_windows is 0"):
        HoppingWindows(hours(1), minutes(1), max_windows=0)


def count_of_results(windows: Any, execution: Any = "auto") -> int:
    (batch,), _, _ = run(windows, once_per_batch(), [("a", 1, 10_000)], (), count(), execution)
    return len(batch)


@pytest.mark.parametrize("execution", ["records", "columns"])
def test_record_in_as_many_windows_as_limit_is_aggregated_in_each_window(
    execution: Any,
) -> None:
    windows = HoppingWindows(milliseconds(MAX_WINDOWS), milliseconds(1))
    assert count_of_results(windows, execution) == MAX_WINDOWS


class Dense:
    """Custom windows, with a given number of windows for each time."""

    close_delay_ms, close_interval_ms = 0, 1

    def __init__(self, count: int) -> None:
        self.count = count

    def starts(self, timestamp_ms: int) -> range:
        return range(timestamp_ms - self.count + 1, timestamp_ms + 1)

    def end(self, start_ms: int) -> int:
        return start_ms + self.count


class Denser(Dense):
    """Custom windows with a higher limit."""

    max_windows = 2 * MAX_WINDOWS


def test_custom_windows_have_default_limit_and_can_override_it() -> None:
    with pytest.raises(ProcessingError, match="5,001 windows of Dense contain time 10000"):
        count_of_results(Dense(MAX_WINDOWS + 1))
    assert count_of_results(Denser(MAX_WINDOWS + 1)) == MAX_WINDOWS + 1


@pytest.mark.parametrize("emit", [each_update(), once_per_batch(), on_close()], ids=repr)
def test_batch_with_records_in_many_windows_is_processed_in_parts(
    emit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def counted(major: Any, *rest: Any) -> Any:
        sizes.append(len(major))
        return grouped(major, *rest)

    monkeypatch.setattr("kstreams.windows.columns.time.grouped", counted)
    monkeypatch.setattr("kstreams.windows.columns.time._PAIRS_AT_ONCE", 60)
    windows = HoppingWindows(milliseconds(40), milliseconds(2), grace=milliseconds(5))
    rows = [("ab"[n % 2], n, max(0, 3 * n - 40 * (n % 7 == 6))) for n in range(60)]
    by_record, in_parts = (
        run(windows, emit, rows, (), count(), execution)[:2] for execution in ("records", "columns")
    )
    assert in_parts == by_record
    assert by_record[0][0]
    assert max(sizes) <= 60
