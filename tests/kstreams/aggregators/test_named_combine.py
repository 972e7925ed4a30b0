"""Aggregators combined by name: results, state, both engines, and names that do not fit."""

from __future__ import annotations

import pickle
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from kstreams import DOUBLE, INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.aggregators import (
    NamedResults,
    collect,
    combine,
    count,
    field,
    fold,
    max_,
    mean,
    min_,
    over,
    sum_,
)
from kstreams.aggregators.aggregator import can_merge, is_invertible
from kstreams.aggregators.exact_sum import unrounded
from kstreams.durations import milliseconds
from kstreams.emit import each_update, on_close
from kstreams.errors import TopologyError
from kstreams.testing import TopologyTestDriver
from kstreams.topology import to_function
from kstreams.windows import (
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    windowed_aggregate,
)
from kstreams_json import json_serde
from tests.support.windows.windowed_runs import SOURCE, store_for


@dataclass(frozen=True)
class Stats:
    count: int
    largest: float


class Pair(NamedTuple):
    low: int
    high: int


ANY: Any = combine
STATS = combine(Stats, count=count(), largest=max_(INT64))


def state_of(aggregator: Any, *values: int) -> Any:
    state = aggregator.init(Record("k", values[0], 0))
    for value in values[1:]:
        state = aggregator.add(state, Record("k", value, 0))
    return state


def result_of(aggregator: Any, *values: int) -> Any:
    return aggregator.result(state_of(aggregator, *values))


def test_named_results_have_attributes_in_order_of_arguments() -> None:
    found = result_of(combine(orders=count(), largest=max_(INT64), count=count()), 3, 7, 5)
    assert (found.orders, found.largest, found["count"], found.count) == (3, 7, 3, 3)
    assert found.as_dict() == {"orders": 3, "largest": 7, "count": 3}
    assert repr(found) == "NamedResults(orders=3, largest=7, count=3)"
    assert found == NamedResults({"orders": 3, "largest": 7, "count": 3})
    assert found != NamedResults({"orders": 3}) != 3
    assert len({found, deepcopy(found), pickle.loads(pickle.dumps(found))}) == 1
    with pytest.raises(AttributeError, match="orders"):
        found.orders = 4
    for name in ("smallest", "_hidden"):
        with pytest.raises(AttributeError, match=name):
            getattr(found, name)


def test_combine_with_class_returns_objects_of_that_class() -> None:
    assert result_of(STATS, 3, 7, 5) == Stats(3, 7)
    assert result_of(combine(Pair, high=max_(INT64), low=min_(INT64)), 3, 7) == Pair(3, 7)


def test_state_of_named_combine_depends_on_names_and_not_on_their_order() -> None:
    one, other = combine(a=max_(INT64), b=min_(INT64)), combine(b=min_(INT64), a=max_(INT64))
    renamed, exchanged = combine(a=max_(INT64), c=min_(INT64)), combine(a=min_(INT64), b=count())
    assert one.state == other.state
    assert state_of(one, 3, 7) == state_of(other, 3, 7) == (7, 3)
    assert one.state.name == "fields(a: int64, b: int64)"
    assert len({one.state, renamed.state, exchanged.state}) == 2
    assert pickle.loads(pickle.dumps(one.state)) == one.state != renamed.state
    with pytest.raises(TopologyError, match="holds values of fields"):
        windowed_aggregate(
            TumblingWindows(milliseconds(1)),
            renamed,
            store=store_for(TumblingWindows(milliseconds(1)), one.state),
        )


def test_named_combination_is_invertible_and_mergeable_only_if_all_aggregators_are() -> None:
    assert is_invertible(combine(a=count(), b=sum_(INT64)))
    assert not is_invertible(combine(a=count(), b=max_(INT64)))
    both: Any = combine(Stats, count=count(), largest=sum_(INT64))
    assert both.result(both.remove(state_of(both, 3, 7), Record("k", 3, 0))) == Stats(1, 7)
    assert unrounded(combine(a=count(), b=sum_(DOUBLE))) is not None
    assert unrounded(combine(a=count())) is None
    assert not can_merge(combine(a=count(), b=fold(TEXT, str, _joined)))


def _joined(text: str, record: Record[Any, int]) -> str:
    return f"{text}{record.value}"


@pytest.mark.parametrize("emit", [on_close(), each_update()])
@pytest.mark.parametrize(
    "windows", [TumblingWindows(milliseconds(5)), SessionWindows(milliseconds(2))]
)
@pytest.mark.parametrize("how", [STATS, combine(count=count(), mean=mean(), largest=max_(INT64))])
def test_named_combine_gives_same_results_by_columns_and_records(
    how: Any, windows: Any, emit: Any
) -> None:
    found = []
    for execution in ("records", "columns"):
        builder = TopologyBuilder("named")
        source: Any = builder.add_source("in", SOURCE)
        supplier: Any = windowed_aggregate(
            windows, how, store=store_for(windows, how.state), emit=emit, execution=execution
        )
        results: list[Any] = []
        node = builder.add_processor("stats", supplier, source)
        builder.add_sink("out", to_function(results.append), node)
        with TopologyTestDriver(builder.build(), recreate_processors=True) as driver:
            rows = [("a", 3, 0), ("b", 9, 1), ("a", 7, 2), ("b", 1, 8), ("a", 2, 30)]
            driver.pipe_batch(SOURCE, [Record(*row) for row in rows[:3]])
            driver.pipe_batch(SOURCE, [Record(*row) for row in rows[3:]])
            driver.close_windows()
        found.append(results)
    assert found[0] == found[1]
    assert any(record.value is not None and record.value.count == 2 for record in found[0])


def test_columns_write_named_results_to_topic_of_their_class() -> None:
    windows = TumblingWindows(milliseconds(5))
    sink: Topic[Any, Stats] = Topic("stats", TEXT, json_serde(Stats))
    builder = TopologyBuilder("named")
    from kstreams import map_ as mapped

    supplier: Any = windowed_aggregate(
        windows, STATS, store=store_for(windows, STATS.state), execution="columns"
    )
    node = builder.add_processor("stats", supplier, builder.add_source("in", SOURCE))
    moved: Any = builder.add_processor("key", mapped(lambda w, s: (w.key, s)), node)
    builder.add_sink("out", sink, moved)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_batch(SOURCE, [Record("a", 3, 0), Record("a", 7, 2)])
        assert [record.value for record in driver.read(sink)] == [Stats(2, 7)]


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: ANY(count(), largest=max_(INT64)), "both positional and named"),
        (lambda: ANY(Stats, Pair, count=count()), "both positional and named"),
        (lambda: combine(Stats, count=count()), "Stats cannot be called with results named count"),
        (lambda: combine(Stats, count=count(), most=max_(INT64)), "Stats cannot be called"),
        (lambda: combine(as_dict=count()), "'as_dict' cannot name a result"),
        (lambda: combine(_hidden=count()), "'_hidden' cannot name a result"),
    ],
)
def test_combine_rejects_names_that_do_not_match_fields_of_class(make: Any, problem: str) -> None:
    with pytest.raises(TopologyError, match=problem):
        make()


@pytest.mark.parametrize(
    "windows", [SessionWindows(milliseconds(2)), SlidingWindows(milliseconds(2))]
)
@pytest.mark.parametrize("wrap", ["alone", "over", "combine", "named"])
def test_sessions_and_sliding_windows_reject_a_fold_without_merge(wrap: str, windows: Any) -> None:
    alone: Any = fold(TEXT, str, _joined)
    how: Any = {
        "alone": alone,
        "over": over(field("x", INT64), alone),
        "combine": combine(count(), alone),
        "named": combine(count=count(), text=alone),
    }[wrap]
    with pytest.raises(TopologyError, match=r"store 'state' has no merge function\nHint: .*merge="):
        windowed_aggregate(windows, how, store=store_for(windows, how.state))


def test_fold_without_merge_runs_in_tumbling_windows() -> None:
    windows, how = TumblingWindows(milliseconds(5)), fold(TEXT, str, _joined)
    builder = TopologyBuilder("fold")
    supplier: Any = windowed_aggregate(windows, how, store=store_for(windows, TEXT))
    results: list[Any] = []
    node = builder.add_processor("text", supplier, builder.add_source("in", SOURCE))
    builder.add_sink("out", to_function(results.append), node)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_batch(SOURCE, [Record("a", 3, 0), Record("a", 7, 2)])
    assert [record.value for record in results] == ["37"]
    assert not can_merge(how)
    assert can_merge(collect(INT64))
