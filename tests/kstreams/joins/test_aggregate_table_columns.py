"""Aggregated tables: columns and records give the same changes, rows and results."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import (
    DOUBLE,
    INT64,
    TEXT,
    FixedKeyProcessor,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    aggregate,
    timestamped_store,
)
from kstreams.aggregators import (
    combine,
    count,
    first,
    fold,
    last,
    max_,
    mean,
    min_,
    over,
    reducing,
    sum_,
    variance,
)
from kstreams.durations import milliseconds
from kstreams.emit import each_update
from kstreams.errors import ProcessingError, TopologyError
from kstreams.joins import Change, inner, left, outer
from kstreams.testing import TopologyTestDriver

OUT: Topic[Any, Any] = Topic("out", TEXT, TEXT, nulls="pass")
WORDS = ["", "a", "b", "ü"]


def longer(one: str, other: str) -> str:
    return other if len(other) > len(one) else one + "+"


def joined_text(one: str, other: str) -> str:
    return f"{one},{other}"[-20:]


AGGREGATORS: dict[str, tuple[Any, Any]] = {
    "count": (DOUBLE, count()),
    "sum": (DOUBLE, sum_(DOUBLE)),
    "sum of integers": (INT64, sum_(INT64)),
    "mean": (DOUBLE, mean()),
    "variance": (DOUBLE, variance(sample=True)),
    "min": (DOUBLE, min_(DOUBLE)),
    "max": (INT64, max_(INT64)),
    "max of text": (TEXT, max_(TEXT)),
    "first": (DOUBLE, first(DOUBLE)),
    "last": (INT64, last(INT64)),
    "combined": (DOUBLE, combine(count(), sum_(DOUBLE), max_(DOUBLE))),
    "named": (INT64, combine(orders=count(), total=sum_(INT64), mean=mean())),
    "as a dict": (INT64, combine(dict, orders=count(), least=min_(INT64))),
    "reducing text": (TEXT, reducing(joined_text, TEXT)),
    "over": (TEXT, over(lambda text: text, reducing(joined_text, TEXT))),
}
ITEMS: dict[Any, Any] = {
    DOUBLE: st.sampled_from([0.1, 0.2, -0.0, 1e300, -1e300, float("nan"), float("inf"), 3.0]),
    INT64: st.integers(-(1 << 40), 1 << 40),
    TEXT: st.sampled_from(WORDS),
}
KEYS = st.none() | st.sampled_from("abc")
Batch = list[tuple[str, str | None, Any, int]]


class Shown(FixedKeyProcessor[Any, Change[Any], str]):
    """Forwards a text of each change, with the stream time at which it arrives."""

    def process(self, record: Record[Any, Change[Any]]) -> None:
        change, now = record.value, self.context.stream_time
        self.context.forward(
            record.with_value(f"{change.old!r} > {change.new!r}, {change.latest}, {now}")
        )


def shown(_: object, value: object) -> str | None:
    text = repr(value)
    return None if text.endswith(("3", "a'")) else text


def both(one: object, other: object) -> str:
    return f"{one!r}+{other!r}"


def store(name: str, aggregator: Any) -> Any:
    return timestamped_store(name, key=TEXT, value=aggregator.state)


def readers(builder: Any, table: Any, how: str, execution: Any) -> None:
    """Add the nodes below an aggregated table."""
    if how == "changes":
        builder.add_sink("out", OUT, builder.add_processor("shown", Shown, table))
    elif how == "derived":
        derived = builder.derive("some", table, shown)
        builder.add_sink("out", OUT, builder.to_stream("last", derived))
        each = builder.to_stream("each", derived, emit=each_update())
        builder.add_sink("each-out", Topic("each", TEXT, TEXT, nulls="pass"), each)
    elif how in ("inner", "left", "outer"):
        counts = aggregate(count(), store=store("numbers", count()), execution=execution)
        other = builder.aggregate_table(
            "numbers", counts, builder.add_source("others", Topic("others", TEXT, TEXT))
        )
        joiners: Any = {"inner": inner(both), "left": left(both), "outer": outer(both)}
        joined = builder.join_tables("join", table, other, joiners[how])
        builder.add_sink("out", OUT, builder.to_stream("each", joined, emit=each_update()))
    elif how == "looked up":
        others = builder.add_source("others", Topic("others", TEXT, TEXT))
        found = builder.join_table("look", others, table, left(both), execution=execution)
        builder.add_sink("out", OUT, found)
    elif how == "looked up, derived":
        others = builder.add_source("others", Topic("others", TEXT, TEXT))
        derived = builder.derive("some", table, shown)
        found = builder.join_table("look", others, derived, inner(both), execution=execution)
        builder.add_sink("out", OUT, found)
    elif how == "grouped":
        texts = builder.derive("text", table, lambda _, value: repr(value))
        groups = timestamped_store("groups", key=TEXT, value=INT64)
        by_end: Any = lambda _, value: value[-1:]  # noqa: E731
        grouped = builder.regroup("groups", texts, by_end, count(), store=groups, value=TEXT)
        out = Topic("out", TEXT, INT64, nulls="pass")
        builder.add_sink("out", out, builder.to_stream("last", grouped))


HOWS = [
    *("changes", "derived", "inner", "left", "outer", "looked up", "looked up, derived"),
    *("looked up by its own records", "none"),
]


def topology(name: str, how: str, execution: Any, *, two: bool = False) -> Topology:
    value, aggregator = AGGREGATORS[name]
    builder = TopologyBuilder("t")
    topic: Any = Topic("values", TEXT, value, nulls="pass", null_keys="pass")
    parents: Any = [builder.add_source("values", topic)]
    if two:
        parents.append(builder.add_source("more", Topic("more", TEXT, value, nulls="pass")))
    supplier: Any = aggregate(aggregator, store=store("states", aggregator), execution=execution)
    table = builder.aggregate_table("states", supplier, *parents)
    if how == "looked up by its own records":
        found = builder.join_table("look", parents[0], table, left(both), execution=execution)
        builder.add_sink("out", OUT, found)
    else:
        readers(builder, table, how, execution)
    return builder.build()


def results(made: Topology, value: Any, batches: list[Batch]) -> tuple[Any, ...]:
    """Return the results with times and headers, the states, and the dropped records."""
    with TopologyTestDriver(made, partitions=2) as driver:
        topics = {node.topic.name for node in made.sources}
        for batch in batches:
            for topic, key, item, time in batch:
                serde = TEXT if topic == "others" else value
                if topic in topics:
                    driver.write_bytes(
                        topic,
                        None if key is None else TEXT.serialize(key),
                        None if item is None else serde.serialize(item),
                        timestamp=time,
                        headers=((f"at {time}", None),),
                    )
            driver.run()
        names = [sink.target.name for sink in made.sinks if isinstance(sink.target, Topic)]
        rows = [
            (name, r.partition, r.key, r.value, r.timestamp, r.headers)
            for name in names
            for r in driver.read_rows(name)
        ]
        specs: Any = made.stores
        stores = {spec.name: repr(driver.store_contents(spec)) for spec in specs}
        return rows, stores, dict(driver.dropped)


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, str, bool, list[Batch]]:
    name = draw(st.sampled_from(list(AGGREGATORS)))
    items = ITEMS[AGGREGATORS[name][0]]
    time = st.integers(0, 30)
    rows = st.one_of(
        st.tuples(st.just("values"), KEYS, st.none() | items, time),
        st.tuples(st.just("values"), KEYS, items, time),
        st.tuples(st.just("more"), st.sampled_from("abc"), items, time),
        st.tuples(st.just("others"), st.sampled_from("abcd"), st.sampled_from(WORDS), time),
    )
    batches: list[Batch] = draw(st.lists(st.lists(rows, max_size=20), max_size=4))
    return name, draw(st.sampled_from([*HOWS, "grouped"])), draw(st.booleans()), batches


@settings(max_examples=100)
@given(case=cases())
def test_aggregate_table_gives_same_results_by_columns_and_records(
    case: tuple[str, str, bool, list[Batch]],
) -> None:
    name, how, two, batches = case
    value = AGGREGATORS[name][0]
    by_columns, by_records = (
        results(topology(name, how, execution, two=two), value, batches)
        for execution in ("columns", "records")
    )
    assert by_columns == by_records


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("name", AGGREGATORS)
def test_table_and_its_readers_run_by_columns(name: str, how: str) -> None:
    described = topology(name, how, "auto").describe()
    assert "execution: columns" in described
    assert "execution: records" not in described


@pytest.mark.parametrize("how", ["derived", "looked up"])
def test_function_is_called_once_for_each_further_record(how: str) -> None:
    calls: list[tuple[str, str]] = []

    def noted(one: str, other: str) -> str:
        calls.append((one, other))
        return one + other

    builder = TopologyBuilder("t")
    texts = Topic("values", TEXT, TEXT)
    supplier = aggregate(reducing(noted, TEXT), store=store("states", reducing(noted, TEXT)))
    table = builder.aggregate_table("states", supplier, builder.add_source("values", texts))
    readers(builder, table, how, "auto")
    made = builder.build()
    assert "execution: records" not in made.describe()
    with TopologyTestDriver(made) as driver:
        for batch in ("ab", "c"):
            for value in batch:
                driver.write(texts, "k", value)
            driver.run()
    assert calls == [("a", "b"), ("ab", "c")]


def test_failing_function_names_the_record() -> None:
    def fails(one: str, other: str) -> str:
        raise ValueError(f"no {one}{other}")

    builder = TopologyBuilder("t")
    texts = Topic("values", TEXT, TEXT)
    aggregator = reducing(fails, TEXT)
    supplier = aggregate(aggregator, store=store("states", aggregator), execution="columns")
    table = builder.aggregate_table("states", supplier, builder.add_source("values", texts))
    readers(builder, table, "derived", "auto")
    with TopologyTestDriver(builder.build()) as driver:
        for time, key in enumerate("aba"):
            driver.write(texts, key, key, timestamp=time)
        with pytest.raises(ProcessingError, match="no aa") as raised:
            driver.run()
    where = raised.value.where
    assert (where.node, where.key, where.timestamp, where.offset) == ("states", "a", 2, 2)


def test_execution_by_columns_where_impossible_is_rejected() -> None:
    builder = TopologyBuilder("t")
    texts = Topic("values", TEXT, TEXT)
    aggregator: Any = fold(TEXT, str, lambda state, record: state + record.value)
    supplier = aggregate(aggregator, store=store("states", aggregator), execution="columns")
    builder.aggregate_table("states", supplier, builder.add_source("values", texts))
    with pytest.raises(
        TopologyError, match="'states' cannot run by columns: the aggregator 'fold'"
    ):
        builder.build()


def test_table_with_a_ttl_runs_by_records() -> None:
    builder = TopologyBuilder("t")
    values = builder.add_source("values", Topic("values", TEXT, INT64))
    supplier: Any = aggregate(count(), store=store("states", count()))
    table = builder.aggregate_table("states", supplier, values, ttl=milliseconds(10))
    readers(builder, table, "changes", "auto")
    described = builder.build().describe()
    assert "execution: records (node 'states' receives its changes or reads its store)" in described


def test_table_that_is_looked_up_and_read_runs_by_records() -> None:
    builder = TopologyBuilder("t")
    values = builder.add_source("values", Topic("values", TEXT, INT64))
    supplier: Any = aggregate(count(), store=store("states", count()))
    table = builder.aggregate_table("states", supplier, values)
    readers(builder, table, "looked up", "auto")
    last = Topic("last", TEXT, INT64, nulls="pass")
    builder.add_sink("last", last, builder.to_stream("stream", table))
    assert "execution: columns" not in builder.build().describe()


@pytest.mark.parametrize("execution", ["columns", "records"])
def test_join_sees_the_row_and_time_before_a_later_change_of_the_batch(execution: str) -> None:
    batches: list[Batch] = [
        [("values", "a", 1.0, 5)],
        [("others", "a", "x", 1), ("values", "a", 2.0, 20)],
    ]
    rows, _, _ = results(topology("sum", "inner", execution), DOUBLE, batches)
    assert [(value, time) for _, _, _, value, time, _ in rows] == [(b"1.0+1", 5), (b"3.0+1", 20)]
