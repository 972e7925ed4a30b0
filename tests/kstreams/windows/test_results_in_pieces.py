"""Operators between windows and outputs of a task run by columns, in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    filter_,
    map_,
    map_values,
    timestamped_store,
)
from kstreams.aggregators import sum_
from kstreams.durations import milliseconds
from kstreams.errors import ProcessingError
from kstreams.operators import filter_not, reduce, rekey
from kstreams.processors import chained
from kstreams.windows import (
    HoppingWindows,
    SessionWindows,
    TumblingWindows,
    Windowed,
    windowed,
    windowed_aggregate,
)
from kstreams_json import json_serde
from kstreams_testing.driver import TopologyTestDriver
from tests.kstreams.graph.execution.test_execution import execution as execution_of
from tests.support.windows.compared_executions import EMISSIONS, cuts_of, rows_of
from tests.support.windows.windowed_runs import SOURCE, Row, store_for

Key = Windowed[str]
PAIR = json_serde(tuple[int | None, str])
LIST = json_serde(list[int])
WINDOWED = windowed(TEXT, SessionWindows(milliseconds(3)))
"""A kind of windows whose keys have start and end."""
KINDS = (
    TumblingWindows(milliseconds(7), grace=milliseconds(3)),
    HoppingWindows(milliseconds(9), milliseconds(2)),
    SessionWindows(milliseconds(3)),
)


@pytest.fixture(autouse=True, scope="module")
def _small_pieces() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chained, "_PIECE", 2)
        yield


def text_of(value: int | None) -> tuple[int | None, str]:
    return value, str(value)


def by_start(key: Key, value: int | None) -> tuple[int, tuple[int | None, str]]:
    return key.start_ms, (value, key.key)


def is_even(key: Key, value: int | None) -> bool:
    return (value or 0) % 2 == 0


def key_only(key: Key, value: int | None) -> str:
    return key.key


OPERATORS: dict[str, tuple[Any, Any, Any]] = {
    "map": (map_(by_start), INT64, PAIR),
    "rekey": (rekey(key_only), TEXT, INT64),
    "filter": (filter_(is_even), WINDOWED, INT64),
    "filter-not": (filter_not(is_even), WINDOWED, INT64),
    "map-values": (map_values(text_of), WINDOWED, PAIR),
}


def topology_of(
    windows: Any, emit: Any, how: str, execution: Any, *, edge: bool
) -> tuple[Topology, Any]:
    operator, key, value = OPERATORS[how]
    builder = TopologyBuilder("t")
    records: Any = builder.add_source("in", SOURCE)
    made: Any = windowed_aggregate(
        windows, sum_(INT64), store=store_for(windows, INT64), emit=emit, execution=execution
    )
    results: Any = builder.add_processor("windows", made, records)
    changed: Any = builder.add_processor("operator", operator, results)
    out: Topic[Any, Any] = Topic("out", key, value, nulls="pass")
    if edge:
        changed = builder.repartition("edge", changed, key=key, value=value)
        store = timestamped_store("last", key=key, value=value)
        below: Any = reduce(last, store=store, execution=execution)
        changed = builder.add_processor("below", below, changed)
    builder.add_sink("out", out, changed)
    return builder.build(), out


def last(_: object, later: Any) -> Any:
    return later


def run(
    topology: Topology, sink: Any, rows: list[Row], cuts: list[int]
) -> tuple[list[list[Any]], dict[str, int]]:
    found = []
    with TopologyTestDriver(topology, recreate_processors=True) as driver:
        for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            made = [Record(k, v, t, (("h", b"x"),)) for k, v, t in rows[begin:end]]
            driver.pipe_batch(SOURCE, made)
            found.append([(r.key, r.value, r.timestamp, r.headers) for r in driver.read(sink)])
        return found, driver.dropped


@settings(max_examples=40)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(EMISSIONS),
    st.sampled_from(sorted(OPERATORS)),
    st.booleans(),
    rows_of,
    st.data(),
)
def test_results_in_pieces_are_same_by_columns_and_records(
    windows: Any, emit: Any, how: str, edge: bool, rows: list[Row], data: st.DataObject
) -> None:
    cuts = cuts_of(data, len(rows))
    topologies = [
        topology_of(windows, emit, how, execution, edge=edge) for execution in ("records", "auto")
    ]
    assert execution_of(topologies[1][0], "operator") == "columns"
    by_records, by_columns = (run(*each, rows, cuts) for each in topologies)
    assert by_columns == by_records


def test_failing_function_names_its_result() -> None:
    def refusing(key: Key, value: int | None) -> tuple[int, int | None]:
        if key.key == "b":
            raise ValueError("no more")
        return key.start_ms, value

    places = []
    for execution in ("records", "auto"):
        builder = TopologyBuilder("t")
        records: Any = builder.add_source("in", SOURCE)
        windows = KINDS[0]
        made: Any = windowed_aggregate(
            windows, sum_(INT64), store=store_for(windows, INT64), execution=execution
        )
        results: Any = builder.add_processor("windows", made, records)
        changed: Any = builder.add_processor("operator", map_(refusing), results)
        builder.add_sink("out", Topic("out", INT64, INT64), changed)
        topology = builder.build()
        with TopologyTestDriver(topology) as driver:
            for number, key in enumerate("aacbd"):
                driver.write(SOURCE, key, number, timestamp=number)
            with pytest.raises(ProcessingError, match="no more") as caught:
                driver.run()
        where = caught.value.where
        places.append((where.node, where.key, where.timestamp, where.offset))
    assert places[1] == ("operator", Windowed("b", 0, 7), 3, None)
    assert places[0][0] == "operator", "and by records no more is known of a result"


class Passing(FixedKeyProcessor[Any, Any, Any]):
    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record)


def to_edge(builder: TopologyBuilder, changed: Any, *more: Any) -> None:
    edge: Any = builder.repartition("edge", changed, *more, key=INT64, value=PAIR)
    builder.add_sink("out", Topic("out", INT64, PAIR), edge)


def to_edge_of_lists(builder: TopologyBuilder, changed: Any, results: Any) -> None:
    edge: Any = builder.repartition("edge", changed, key=INT64, value=LIST)
    builder.add_sink("out", Topic("out", INT64, LIST), edge)


def to_processor(builder: TopologyBuilder, changed: Any, results: Any) -> None:
    to_edge(builder, builder.add_processor("passing", Passing, changed))


def from_elsewhere_too(builder: TopologyBuilder, changed: Any, results: Any) -> None:
    to_edge(builder, changed, builder.add_processor("passing", map_(by_start), results))


@pytest.mark.parametrize(
    "below",
    [to_edge_of_lists, to_processor, from_elsewhere_too],
    ids=["could-be-changed", "processor", "elsewhere"],
)
def test_operator_whose_children_do_not_support_columns_runs_by_records(below: Any) -> None:
    builder = TopologyBuilder("t")
    records: Any = builder.add_source("in", SOURCE)
    made: Any = windowed_aggregate(KINDS[0], sum_(INT64), store=store_for(KINDS[0], INT64))
    results: Any = builder.add_processor("windows", made, records)
    changed: Any = builder.add_processor("operator", map_(by_start), results)
    below(builder, changed, results)
    assert execution_of(builder.build(), "operator") is None
