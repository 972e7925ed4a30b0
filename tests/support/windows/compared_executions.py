"""Windows, rows and helpers for tests that compare the executions `records` and `columns`."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import cycle
from typing import Any

from hypothesis import strategies as st

from kstreams import (
    DOUBLE,
    INT64,
    TEXT,
    Record,
    Topic,
    TopologyBuilder,
)
from kstreams.aggregators import (
    combine,
    count,
    first,
    last,
    max_,
    mean,
    min_,
    sum_,
    variance,
)
from kstreams.durations import milliseconds
from kstreams.emit import (
    each_update,
    on_close,
    once_per_batch,
)
from kstreams.processors.column_form import Input, NodeForm
from kstreams.processors.columns import ColumnProcessor
from kstreams.serde.composite import TupleSerde
from kstreams.topology import to_function
from kstreams.windows import (
    CalendarWindows,
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    UnlimitedWindows,
    split_late,
    windowed,
    windowed_aggregate,
)
from kstreams_testing.driver import TopologyTestDriver
from tests.support.windows.windowed_runs import SOURCE, Row, store_for

DAY = 86_400_000


SUM: Any = sum_(INT64)


ALL_OF_THEM = combine(count(), sum_(INT64), last(INT64), variance())


AGGREGATORS: dict[str, tuple[Any, Any]] = {
    "count": (count(), INT64),
    "sum": (sum_(INT64), INT64),
    "sum-double": (sum_(DOUBLE), DOUBLE),
    "min": (min_(INT64), INT64),
    "max": (max_(DOUBLE), DOUBLE),
    "mean": (mean(), DOUBLE),
    "variance": (variance(), DOUBLE),
    "sample-variance": (variance(sample=True), DOUBLE),
    "first": (first(INT64), INT64),
    "last": (last(INT64), INT64),
    "together": (ALL_OF_THEM, TupleSerde(INT64, INT64, INT64, DOUBLE)),
}


EMISSIONS = (each_update(), once_per_batch(), on_close())


spans = st.integers(1, 12)


graces = st.integers(0, 12).map(milliseconds)


keys = st.sampled_from(["a", "a", "b", "", "ä"])


values = st.integers(-99, 99)


scattered = st.lists(st.tuples(keys, values, st.integers(-1, 60)), max_size=24)


@st.composite
def walks(draw: st.DrawFn) -> list[Row]:
    """Draw records whose times mostly increase in small steps."""
    rows = []
    time = 0
    for key, value, step in draw(
        st.lists(
            st.tuples(keys, values, st.sampled_from([0, 0, 1, 1, 2, 3, 5, 9, -1, -4, -9])),
            max_size=24,
        )
    ):
        time = max(0, time + step)
        rows.append((key, value, time))
    return rows


rows_of = scattered | walks() | walks()


@st.composite
def kinds(draw: st.DrawFn) -> Any:
    size, grace = draw(spans), draw(graces)
    match draw(
        st.sampled_from(["tumbling", "hopping", "session", "sliding", "calendar", "unlimited"])
    ):
        case "tumbling":
            return TumblingWindows(milliseconds(size), grace=grace)
        case "hopping":
            advance = milliseconds(draw(st.integers(1, size)))
            return HoppingWindows(milliseconds(size), advance, grace=grace)
        case "session":
            return SessionWindows(milliseconds(size), grace=grace)
        case "sliding":
            return SlidingWindows(milliseconds(size), grace=grace)
        case "calendar":
            return CalendarWindows("day", tz="Europe/Berlin", grace=grace)
        case _:
            return UnlimitedWindows()


def scaled(windows: Any, rows: list[Row]) -> list[Row]:
    """Scale times, so that they cover several windows of days."""
    factor = DAY // 10 if isinstance(windows, CalendarWindows) else 1
    return [(key, value, time * factor if time > 0 else time) for key, value, time in rows]


def cuts_of(data: st.DataObject, count: int) -> list[int]:
    if count < 2:
        return []
    return sorted(data.draw(st.sets(st.integers(1, count - 1), max_size=4)))


def close_to(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(close_to, one, other))
    if isinstance(one, float):
        same = math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
        return same or (math.isnan(one) and math.isnan(other))
    return bool(one == other)


def same(one: list[Any], other: list[Any]) -> bool:
    return [(w, t) for w, _, t in one] == [(w, t) for w, _, t in other] and all(
        close_to(a, b) for (_, a, _), (_, b, _) in zip(one, other, strict=True)
    )


class ByTurns:
    """A supplier whose node alternates between both executions, batch by batch."""

    def __init__(self, supplier: Any, executions: tuple[str, ...]) -> None:
        self._supplier = supplier
        self._executions = cycle(executions)
        self.stores = supplier.stores

    def __call__(self) -> Any:
        return self._supplier()

    @property
    def column_form(self) -> NodeForm:
        form: NodeForm = self._supplier.column_form

        def build(rows: Input) -> Any:
            if next(self._executions) == "records":
                return "it is the turn of records"
            found = form.build(rows)
            assert isinstance(found, ColumnProcessor)
            return found

        return replace(form, build=build)


def by_turns(
    windows: Any,
    emit: Any,
    batches: list[list[Row]],
    executions: tuple[str, ...],
    how: Any = SUM,
) -> Any:
    store = store_for(windows, how.state)
    supplier: Any = windowed_aggregate(windows, how, store=store, emit=emit)
    sink: Any = Topic("out", windowed(TEXT, windows), how.state, nulls="pass")
    builder = TopologyBuilder("turns")
    records: Any = builder.add_source("in", SOURCE)
    node: Any = builder.add_processor("w", ByTurns(supplier, executions), records)
    builder.add_sink("out", sink, node)
    found = []
    with TopologyTestDriver(builder.build(), recreate_processors=True) as driver:
        for batch in batches:
            driver.pipe_batch(SOURCE, [Record(k, v, t) for k, v, t in batch])
            found.append(driver.read(sink))
        return found, driver.dropped


WINDOWS = TumblingWindows(milliseconds(10))


def aggregation(
    source: Any, aggregator: Any, execution: Any, result: Any = None
) -> tuple[TopologyTestDriver, Any]:
    builder = TopologyBuilder("t")
    sink: Any = Topic("out", windowed(TEXT, WINDOWS), result or aggregator.state)
    store = store_for(WINDOWS, aggregator.state)
    supplier: Any = windowed_aggregate(WINDOWS, aggregator, store=store, execution=execution)
    builder.add_sink(
        "out", sink, builder.add_processor("w", supplier, builder.add_source("in", source))
    )
    return TopologyTestDriver(builder.build()), sink


def late_run(execution: Any, windows: Any, rows: list[Row], cuts: list[int], emit: Any) -> Any:
    builder = TopologyBuilder("late")
    good: list[Any] = []
    refused: list[Any] = []
    records: Any = builder.add_source("in", SOURCE)
    store = store_for(windows, INT64)
    supplier: Any = windowed_aggregate(
        windows, count(), store=store, execution=execution, emit=emit
    )
    results, late = split_late(builder, "counts", supplier, records)
    builder.add_sink("good", to_function(good.append), results)
    builder.add_sink("refused", to_function(refused.append), late)
    with TopologyTestDriver(builder.build(), recreate_processors=True) as driver:
        for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            driver.pipe_batch(
                SOURCE, [Record(k, v, t, (("h", b"x"),)) for k, v, t in rows[begin:end]]
            )
        return good, refused, driver.dropped
