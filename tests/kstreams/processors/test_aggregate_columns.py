"""Aggregations of Python objects without windows, by columns and by records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import TEXT, Record, Topic, TopologyBuilder, map_values, timestamped_store
from kstreams.aggregators import max_, min_, over, reducing
from kstreams.durations import milliseconds
from kstreams.emit import each_update, once_per_batch
from kstreams.errors import ProcessingError, SerializationError, TopologyError
from kstreams.operators import aggregate, reduce
from kstreams.processors import FixedKeyProcessor, ProcessorContext, PunctuationType
from kstreams.processors.columns import Execution
from kstreams_json import json_serde
from kstreams_testing.driver import TopologyTestDriver
from tests.support.windows.compared_executions import ByTurns

Pair = tuple[int, str]
PAIR = json_serde(tuple[int, str])
A, B = (Topic(name, TEXT, PAIR, nulls="pass", null_keys="pass") for name in ("a", "b"))
Row = tuple[Topic[Any, Any], "str | None", "Pair | None", int]


def met(earlier: Pair, later: Pair) -> Pair:
    """Combine values so that the result shows their order; not associative, on purpose."""
    return later[0] - 2 * earlier[0], f"{earlier[1]},{later[1]}"


def number_of(pair: Pair) -> str:
    return str(pair[0])


AGGREGATORS: dict[str, Any] = {
    "in-order": reducing(met, PAIR),
    "greatest": reducing(max, PAIR),
    "least": reducing(min, PAIR),
    "greatest-text": over(number_of, max_(TEXT)),
    "least-text": over(number_of, min_(TEXT)),
}


class Ticking(FixedKeyProcessor[Any, Any, Any]):
    """Forwards each record, and has a punctuator that splits batches."""

    def init(self, context: ProcessorContext[Any, Any]) -> None:
        super().init(context)
        context.schedule(milliseconds(7), PunctuationType.STREAM_TIME, lambda _: None)

    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record)


def topology_of(aggregator: Any, *executions: Execution, cut: bool = True) -> Any:
    """Return a topology with two sources, the topic of its sink and its store."""
    builder = TopologyBuilder("t")
    sources: list[Any] = [builder.add_source(each.name, each) for each in (A, B)]
    store = timestamped_store("states", key=TEXT, value=aggregator.state)
    made = aggregate(aggregator, store=store, emit=once_per_batch())
    states: Any = builder.add_processor("states", ByTurns(made, executions), *sources)
    if cut:
        builder.add_processor("ticking", Ticking, sources[0])
    sink: Topic[Any, Any] = Topic("out", TEXT, aggregator.state, null_keys="pass")
    builder.add_sink("out", sink, states)
    return builder.build(), sink, store


def run(
    aggregator: Any, batches: list[list[Row]], *executions: Execution, **options: Any
) -> tuple[Any, ...]:
    """Return results by batch, stored rows and dropped records."""
    topology, sink, store = topology_of(aggregator, *executions, **options)
    found = []
    with TopologyTestDriver(topology, recreate_processors=True) as driver:
        for batch in batches:
            for topic, key, value, timestamp in batch:
                driver.write(topic, key, value, timestamp=timestamp)
            driver.run()
            found.append([(r.key, r.value, r.timestamp, r.headers) for r in driver.read(sink)])
        rows: Any = driver.store(store).range()
        return found, list(rows), driver.dropped


pairs = st.tuples(st.integers(-9, 9), st.sampled_from(["", "x", "ä"]))
rows_of = st.lists(
    st.tuples(
        st.sampled_from([A, A, B]),
        st.sampled_from(["a", "a", "b", "ä", "", None]),
        st.one_of(pairs, pairs, pairs, st.none()),
        st.integers(0, 40),
    ),
    max_size=16,
)


@pytest.mark.long
@settings(max_examples=80)
@given(st.sampled_from(sorted(AGGREGATORS)), st.lists(rows_of, max_size=4), st.booleans())
def test_columns_of_objects_and_records_give_same_results(
    how: str, batches: list[list[Row]], cut: bool
) -> None:
    aggregator = AGGREGATORS[how]
    by_records = run(aggregator, batches, "records", cut=cut)
    assert run(aggregator, batches, "columns", cut=cut) == by_records
    assert run(aggregator, batches, "records", "columns", cut=cut) == by_records
    assert run(aggregator, batches, "columns", "records", cut=cut) == by_records


def refusing(earlier: Pair, later: Pair) -> Pair:
    if later[0] == 7:
        raise ValueError("no more")
    return earlier


@pytest.mark.parametrize("function", [refusing, max], ids=["own", "compared"])
@pytest.mark.parametrize("cut", [0, 2], ids=["same-batch", "stored"])
def test_error_of_aggregation_function_names_its_record(function: Any, cut: int) -> None:
    wrong = 7 if function is refusing else "7"
    rows = [("b", 1), ("a", 1), ("b", 2), ("a", wrong), ("a", 2)]
    places = [failed(function, rows, cut, execution) for execution in ("records", "columns")]
    assert places == [("states", "a", 3, "a", 3)] * 2


def failed(function: Any, rows: list[Any], cut: int, execution: Any) -> tuple[object, ...]:
    """Return the place that the error of a failing aggregation names."""
    mixed = json_serde(tuple[int | str, str])
    topic: Topic[Any, Any] = Topic("a", TEXT, mixed)
    builder = TopologyBuilder("t")
    store = timestamped_store("states", key=TEXT, value=mixed)
    made = reduce(function, store=store, execution=execution)
    builder.add_processor("states", made, builder.add_source("a", topic))
    with TopologyTestDriver(builder.build()) as driver:
        for number, (key, value) in enumerate(rows):
            if number == cut:
                driver.run()
            driver.write(topic, key, (value, ""), timestamp=number)
        with pytest.raises(ProcessingError, match=r"no more|not supported") as caught:
            driver.run()
    where = caught.value.where
    return where.node, where.topic, where.offset, where.key, where.timestamp


def test_aggregate_result_none_is_rejected() -> None:
    def nothing(earlier: Pair, later: Pair) -> Any:
        return None

    rows: list[Row] = [(A, "k", (1, ""), 1), (A, "k", (2, ""), 2)]
    for execution in ("records", "columns"):
        with pytest.raises(SerializationError):
            run(reducing(nothing, PAIR), [rows], execution)


def test_build_rejects_execution_by_columns_of_object_aggregation_that_emits_each_update() -> None:
    store = timestamped_store("states", key=TEXT, value=PAIR)
    made: Any = reduce(max, store=store, emit=each_update(), execution="columns")
    builder = TopologyBuilder("t")
    builder.add_processor("states", made, builder.add_source("a", Topic("a", TEXT, PAIR)))
    with pytest.raises(TopologyError, match="has no column form for such windows"):
        builder.build()


def test_nodes_after_aggregation_of_objects_get_same_results_by_columns_and_records() -> None:
    found = []
    plain = Topic("a", TEXT, PAIR)
    for execution in ("records", "columns"):
        builder = TopologyBuilder("t")
        records: Any = builder.add_source("a", plain)
        store = timestamped_store("states", key=TEXT, value=PAIR)
        made: Any = reduce(max, store=store, execution=execution)
        states: Any = builder.add_processor("states", made, records)
        first: Any = builder.add_processor("first", map_values(number_of), states)
        edge: Any = builder.repartition("edge", first, key=TEXT, value=TEXT)
        texts = timestamped_store("texts", key=TEXT, value=TEXT)
        below: Any = builder.add_processor(
            "texts", reduce(min, store=texts, execution=execution), edge
        )
        sink = Topic("out", TEXT, TEXT)
        builder.add_sink("out", sink, below)
        with TopologyTestDriver(builder.build()) as driver:
            for number in range(6):
                driver.write(plain, "ab"[number % 2], (number, ""), timestamp=number)
            driver.run()
            driver.pipe(plain, "a", (10, ""), timestamp=9)
            found.append([(r.key, r.value, r.timestamp) for r in driver.read(sink)])
    assert found[0] == found[1] == [("a", "4", 4), ("b", "5", 5), ("a", "10", 9)]
