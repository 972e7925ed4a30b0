"""Windowed aggregation: validation, dropped and late records, custom windows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import pytest

from kstreams import BYTES, INT64, TEXT, Topic, TopologyBuilder, map_values
from kstreams.aggregators import count, mean
from kstreams.durations import milliseconds
from kstreams.emit import each_update, on_close
from kstreams.errors import SerializationError
from kstreams.errors.building import TopologyError
from kstreams.processors.aggregate import aggregate, reduce
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.window.kind import window_store
from kstreams.windows import (
    HoppingWindows,
    Late,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    UnlimitedWindows,
    Windowed,
    split_late,
    windowed_aggregate,
)
from kstreams_testing.driver import TopologyTestDriver
from tests.support.windows.windowed_runs import SOURCE, run

TUMBLING = TumblingWindows(milliseconds(10))
COUNTS = window_store("counts", key=TEXT, value=INT64)


def test_windowed_aggregate_provides_its_store() -> None:
    builder = TopologyBuilder("t")
    lines = builder.add_source("in", SOURCE)
    supplier = windowed_aggregate(TUMBLING, count(), store=COUNTS)
    counted = builder.add_processor("counts", supplier, lines, stores=[COUNTS])
    sink: Any = Topic("out", BYTES, INT64)
    builder.add_sink("out", sink, counted)
    with pytest.raises(TopologyError, match="takes a key of type bytes"):
        builder.build()
    assert supplier.stores == (COUNTS,)


def test_supplier_with_invalid_stores_is_rejected() -> None:
    class Wrong:
        stores = "counts"

        def __call__(self) -> Any:
            return windowed_aggregate(TUMBLING, count(), store=COUNTS)()

    builder = TopologyBuilder("t")
    lines = builder.add_source("in", SOURCE)
    with pytest.raises(TopologyError, match="'stores'"):
        builder.add_processor("p", Wrong(), lines)


@pytest.mark.parametrize(
    ("windows", "store"),
    [
        (TUMBLING, session_store("s", key=TEXT, value=INT64)),
        (SlidingWindows(milliseconds(1)), COUNTS),
        (SessionWindows(milliseconds(1)), sliding_store("s", key=TEXT, value=INT64)),
        (TUMBLING, key_value_store("s", key=TEXT, value=INT64)),
        (TUMBLING, window_store("s", key=TEXT, value=TEXT)),
    ],
)
def test_store_that_does_not_fit_is_rejected(windows: Any, store: Any) -> None:
    with pytest.raises(TopologyError, match="store"):
        windowed_aggregate(windows, count(), store=store)


def test_times_outside_of_all_windows_are_counted_as_dropped() -> None:
    rows = [("k", 1, -5), ("k", 2, 5)]
    for windows in (TUMBLING, SlidingWindows(milliseconds(3)), SessionWindows(milliseconds(3))):
        batches, dropped, _ = run(windows, each_update(), rows)
        assert dropped == {"no-window": 1}
        assert [values for _, values, _ in batches[0]] == [(2,)]


def test_unlimited_window_accepts_all_times_from_its_start_and_never_closes() -> None:
    start = datetime.fromtimestamp(0.01, timezone.utc)
    rows = [("k", 1, 9), ("k", 2, 10), ("k", 3, 10**12), ("k", 4, 11)]
    batches, dropped, left = run(UnlimitedWindows(start), each_update(), rows)
    forever = Windowed("k", 10, (1 << 63) - 1)
    assert batches[0][-1] == (forever, (2, 3, 4), 10**12)
    assert (dropped, left) == ({"no-window": 1}, 1)
    assert run(UnlimitedWindows(start), on_close(), rows)[0] == [[]]


@pytest.mark.long
def test_state_of_closed_windows_is_removed() -> None:
    rows = [("k", 1, time) for time in range(0, 100_000, 10)]
    for windows in (
        TUMBLING,
        HoppingWindows(milliseconds(10), milliseconds(5)),
        SlidingWindows(milliseconds(3)),
        SessionWindows(milliseconds(3)),
    ):
        assert run(windows, each_update(), rows)[2] <= 210
        assert run(windows, on_close(), rows)[2] <= 2


@dataclass(frozen=True)
class Parity:
    """Custom windows of 30 and 70 ms, for even and odd hundreds."""

    close_delay_ms: int = 5
    close_interval_ms: int = 1

    def starts(self, timestamp_ms: int) -> list[int]:
        hundred = timestamp_ms // 100 * 100
        return [hundred if timestamp_ms - hundred < 30 else hundred + 30]

    def end(self, start_ms: int) -> int:
        return start_ms + (70 if start_ms % 100 else 30)


def test_custom_windows_are_aggregated() -> None:
    rows = [
        ("k", 1, 0),
        ("k", 2, 29),
        ("k", 3, 30),
        ("k", 4, 34),
        ("k", 5, 28),
        ("k", 6, 35),
        ("k", 7, 29),
        ("k", 8, 300),
    ]
    batches, dropped, _ = run(Parity(), on_close(), rows, cuts=range(1, 8))
    assert [[(str(w), values) for w, values, _ in batch] for batch in batches] == [
        [],
        [],
        [],
        [],
        [],
        [("k@0/30", (1, 2, 5))],
        [],
        [("k@30/100", (3, 4, 6))],
    ]
    assert dropped == {"late": 1}


def late_topology(windows: Any, store: Any, results: Any, late: Any) -> TopologyTestDriver:
    builder = TopologyBuilder("late")
    records = builder.add_source("in", SOURCE)
    supplier: Any = windowed_aggregate(windows, count(), store=store)
    good, refused = split_late(builder, "counts", supplier, records)
    builder.add_sink("good", _function(results), good)
    builder.add_sink("refused", _function(late), refused)
    return TopologyTestDriver(builder.build())


def test_late_records_have_key_type_of_input() -> None:
    builder = TopologyBuilder("late")
    records = builder.add_source("in", SOURCE)
    counting = windowed_aggregate(TUMBLING, count(), store=COUNTS)
    _, late = split_late(builder, "counts", counting, records)
    values = builder.add_processor("values", map_values(lambda late: late.value), late)
    builder.add_sink("late", Topic("late", TEXT, INT64), values)
    assert builder.build().name == "late"


def _function(target: list[Any]) -> Any:
    from kstreams.topology import to_function

    return to_function(target.append)


@pytest.mark.parametrize(
    ("windows", "store", "expected"),
    [
        (TUMBLING, COUNTS, [Late(7, 0, 10, 30, 20)]),
        (
            HoppingWindows(milliseconds(10), milliseconds(5)),
            COUNTS,
            [Late(7, 0, 10, 30, 20), Late(7, 5, 15, 30, 15)],
        ),
        (
            SlidingWindows(milliseconds(3)),
            sliding_store("counts", key=TEXT, value=INT64),
            [Late(7, 2, 5, 30, 24)],
        ),
        (
            SessionWindows(milliseconds(3)),
            session_store("counts", key=TEXT, value=INT64),
            [Late(7, 5, 5, 30, 21)],
        ),
    ],
)
def test_late_records_are_forwarded_to_separate_branch(
    windows: Any, store: Any, expected: list[Any]
) -> None:
    results: list[Any] = []
    late: list[Any] = []
    with late_topology(windows, store, results, late) as driver:
        driver.pipe(SOURCE, "k", 1, timestamp=30)
        assert (len(results) > 0, late) == (True, [])
        results.clear()
        driver.pipe(SOURCE, "k", 7, timestamp=5)
        assert results == []
        assert [(r.key, r.value, r.timestamp) for r in late] == [("k", v, 5) for v in expected]
        assert driver.dropped == {"late": len(expected)}


def test_sum_beyond_int64_raises_typed_error() -> None:
    from kstreams.aggregators import sum_

    rows = [("k", (1 << 63) - 1, 1), ("k", 1, 2)]
    with pytest.raises(SerializationError, match="state"):
        run(TUMBLING, on_close(), rows, aggregator=sum_(INT64))


TOTALS = timestamped_store("totals", key=TEXT, value=INT64)


def test_aggregation_without_windows_forwards_updates_and_drops_nulls() -> None:
    source: Topic[Any, Any] = Topic("in", TEXT, INT64, nulls="pass", null_keys="pass")
    sink: Topic[Any, Any] = Topic("out", TEXT, INT64, null_keys="pass")
    means = timestamped_store("means", key=TEXT, value=mean().state)
    builder = TopologyBuilder("t")
    records: Any = builder.add_source("in", source)
    total: Any = builder.add_processor("sum", reduce(max, store=TOTALS), records)
    builder.add_processor("mean", aggregate(mean(), store=means), records)
    builder.add_sink("out", sink, total)
    with TopologyTestDriver(builder.build(), recreate_processors=True) as driver:
        for key, value, time in [
            ("a", 3, 5),
            ("a", 1, 9),
            ("a", 4, 7),
            (None, 1, 8),
            ("a", None, 1),
        ]:
            driver.pipe(source, key, value, timestamp=time)
        assert [(r.value, r.timestamp) for r in driver.read(sink)] == [(3, 5), (3, 9), (4, 9)]
        assert driver.store(means).get("a") == ((3, 8.0), 9)
        assert list(driver.store(TOTALS).range()) == [("a", (4, 9))]
        assert driver.dropped == {"null-key": 2, "null-value": 2}


def test_aggregation_without_windows_rejects_window_store_and_wrong_state() -> None:
    wrong: Any = window_store("w", key=TEXT, value=INT64)
    with pytest.raises(TopologyError, match="timestamped"):
        aggregate(count(), store=wrong)
    other: Any = timestamped_store("w", key=TEXT, value=TEXT)
    with pytest.raises(TopologyError, match="state"):
        aggregate(count(), store=other)


@pytest.mark.parametrize(
    "make",
    [
        lambda: TumblingWindows(milliseconds(0)),
        lambda: TumblingWindows(milliseconds(1.5)),
        lambda: TumblingWindows(milliseconds(1), grace=milliseconds(-1)),
        lambda: HoppingWindows(milliseconds(5), milliseconds(6)),
        lambda: HoppingWindows(milliseconds(5), milliseconds(0)),
        lambda: SlidingWindows(milliseconds(-1)),
        lambda: SessionWindows(milliseconds(-1)),
        lambda: UnlimitedWindows(datetime(2020, 1, 1)),
    ],
)
def test_invalid_window_spans_are_rejected(make: Any) -> None:
    with pytest.raises(ValueError, match=r"expected|above|time zone"):
        make()


def test_store_of_other_windows_is_rejected_and_store_returns_window_ends() -> None:
    counts = window_store("s", key=TEXT, value=INT64, windows=TUMBLING)
    longer = TumblingWindows(milliseconds(99))
    with pytest.raises(TopologyError, match=r"with windows TumblingWindows.* aggregated with"):
        windowed_aggregate(longer, count(), store=counts)
    builder = TopologyBuilder("t")
    source = Topic("in", TEXT, INT64)
    supplier = windowed_aggregate(TUMBLING, count(), store=counts)
    builder.add_processor("count", supplier, builder.add_source("in", source))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(source, "a", 1, timestamp=3)
        (window, number), *others = driver.store(counts).fetch("a")
    assert (window, number, others) == (Windowed("a", 0, TUMBLING.end(0)), 1, [])
