"""Joins of two tables: columns and records give the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    timestamped_store,
)
from kstreams.aggregators import count, over, reducing
from kstreams.durations import milliseconds, seconds
from kstreams.emit import each_update
from kstreams.errors import ProcessingError
from kstreams.ids import TaskId
from kstreams.joins import inner, left, outer
from kstreams.processors import PunctuationType
from kstreams.stores import window_store
from kstreams.testing import TopologyTestDriver
from kstreams.topology import to_stdout
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate

LEFT: Topic[Any, Any] = Topic("left", TEXT, TEXT, nulls="pass", null_keys="pass")
RIGHT: Topic[Any, Any] = Topic("right", TEXT, TEXT, nulls="pass")
EACH, OUT = Topic("each", TEXT, TEXT, nulls="pass"), Topic("out", TEXT, TEXT, nulls="pass")
LEFTS = timestamped_store("lefts", key=TEXT, value=TEXT)
RIGHTS = timestamped_store("rights", key=TEXT, value=TEXT)
BOTH = timestamped_store("both", key=TEXT, value=TEXT)
SIZE = TumblingWindows(milliseconds(10), grace=milliseconds(5))
OF_WINDOW = windowed(TEXT, SIZE)


def joined(one: object, other: object) -> str | None:
    return None if other == "none" else f"{one}+{other}"


JOINERS: dict[str, Any] = {
    "inner": inner(joined),
    "left": left(joined),
    "outer": outer(joined),
}


class Ticks(FixedKeyProcessor[str, str, str]):
    """Forwards each record with its stream time, and an extra record at each interval of it."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        context.schedule(seconds(0.007), PunctuationType.STREAM_TIME, self.tick)

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record.with_value(f"{record.value} at {self.context.stream_time}"))

    def tick(self, now_ms: int) -> None:
        self.context.forward(Record("tick", str(now_ms), now_ms))


def topology(how: str, *, derived: bool, stored: bool, ticks: bool) -> Topology:
    builder = TopologyBuilder("t")
    lefts: Any = builder.add_table("lefts", LEFT, store=LEFTS)
    rights: Any = builder.add_table("rights", RIGHT, store=RIGHTS)
    if derived:
        lefts = builder.derive("some", lefts, lambda _, v: None if v == "x" else v * 2)
        rights = builder.derive("few", rights, lambda k, v: f"{k}{v}" if v != "y" else None)
    store: Any = BOTH if stored else None
    both: Any = builder.join_tables("both", lefts, rights, JOINERS[how], store=store)
    each: Any = builder.to_stream("each", both, emit=each_update())
    if ticks:
        each = builder.add_processor("ticks", Ticks, each)
    builder.add_sink("each-out", EACH, each)
    more = builder.derive("more", both, lambda _, v: f"<{v}>")
    builder.add_sink("out", OUT, builder.to_stream("last", more))
    return builder.build()


class ByRecord:
    """An interceptor of records; no columns run around it."""

    def bind(
        self, node: str, task: TaskId, call: Callable[[Record[Any, Any]], None]
    ) -> Callable[[Record[Any, Any]], None]:
        return call


KEYS = st.sampled_from("abc")
VALUES = st.none() | st.sampled_from(["x", "y", "z", "none"])
ROWS = st.tuples(st.just("left"), st.none() | KEYS, VALUES) | st.tuples(
    st.just("right"), KEYS, VALUES
)
Batch = list[tuple[tuple[str, str | None, str | None], int]]
BATCHES = st.lists(st.lists(st.tuples(ROWS, st.integers(0, 30)), max_size=25), max_size=4)


def results(
    made: Topology, batches: list[Batch], *, by_record: bool
) -> tuple[list[Any], list[Any], dict[str, int]]:
    """Return the results, the stored rows and the dropped records."""
    interceptors = (ByRecord(),) if by_record else ()
    with TopologyTestDriver(made, partitions=2, interceptors=interceptors) as driver:
        for batch in batches:
            for (name, key, value), time in batch:
                encoded = None if key is None else TEXT.serialize(key)
                data = None if value is None else TEXT.serialize(value)
                driver.write_bytes(name, encoded, data, timestamp=time)
            driver.run()
        rows = [
            [(r.partition, r.key, r.value, r.timestamp) for r in driver.read_rows(sink.target.name)]
            for group in made.groups
            for sink in group.sinks
            if isinstance(sink.target, Topic)
        ]
        tables: Any = [s for group in made.groups for s in group.stores if s.kind == LEFTS.kind]
        stores = [driver.store_contents(store) for store in tables]
        return rows, stores, dict(driver.dropped)


@pytest.mark.long
@settings(max_examples=80)
@given(
    BATCHES,
    st.sampled_from(["inner", "left", "outer"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_table_join_gives_same_results_by_columns_and_records(
    batches: list[Batch], how: str, derived: bool, stored: bool, ticks: bool
) -> None:
    made = topology(how, derived=derived, stored=stored, ticks=ticks)
    assert "execution: records" not in made.describe()
    by_columns, by_records = (
        results(made, batches, by_record=by_record) for by_record in (False, True)
    )
    assert by_columns == by_records


def of_windows(how: str, *, texts: bool) -> Topology:
    """Build a join of two windowed aggregations, one optionally of texts."""
    builder = TopologyBuilder("t")
    counts = window_store("counts", key=TEXT, value=INT64)
    names: Any = window_store("names", key=TEXT, value=TEXT if texts else INT64)
    latest: Any = over(lambda v: v, reducing(max, TEXT)) if texts else count()
    one: Any = builder.add_processor(
        "count",
        windowed_aggregate(SIZE, count(), store=counts),
        builder.add_source("left", Topic("left", TEXT, TEXT)),
    )
    other: Any = builder.add_processor(
        "name",
        windowed_aggregate(SIZE, latest, store=names),
        builder.add_source("right", Topic("right", TEXT, TEXT)),
    )
    kept: Any = timestamped_store("kept", key=OF_WINDOW, value=INT64)
    known: Any = timestamped_store("known", key=OF_WINDOW, value=TEXT if texts else INT64)
    both = builder.join_tables(
        "both",
        builder.to_table("kept", one, store=kept),
        builder.to_table("known", other, store=known),
        JOINERS[how],
    )
    out: Any = Topic("out", OF_WINDOW, TEXT, nulls="pass")
    builder.add_sink("out", out, builder.to_stream("last", both))
    return builder.build()


@pytest.mark.long
@settings(max_examples=60)
@given(BATCHES, st.sampled_from(["inner", "left", "outer"]), st.booleans())
def test_windowed_tables_forwarded_once_per_batch_are_joined_by_columns(
    batches: list[Batch], how: str, texts: bool
) -> None:
    made = of_windows(how, texts=texts)
    assert "execution: records" not in made.describe()
    by_columns, by_records = (
        results(made, batches, by_record=by_record) for by_record in (False, True)
    )
    assert by_columns == by_records


def executions(topology: Topology) -> dict[str, str]:
    found, node = {}, ""
    for line in topology.describe().splitlines():
        if line.strip().startswith(("Processor:", "Join:")):
            node = line.split()[1]
        elif "execution:" in line:
            found[node] = line.split(": ", 1)[1]
    return found


def test_aggregation_runs_by_columns_if_its_result_is_merged_with_its_source() -> None:
    builder: Any = TopologyBuilder("t")
    source = builder.add_source("left", LEFT)
    store = window_store("counts", key=TEXT, value=INT64)
    counted = builder.add_processor("count", windowed_aggregate(SIZE, count(), store=store), source)
    builder.add_sink("out", to_stdout(), builder.merge("mixed", counted, source))
    assert executions(builder.build())["count"] == "columns"


def test_table_with_a_reader_by_records_makes_all_its_joins_run_by_records() -> None:
    builder: Any = TopologyBuilder("t")
    names: Any = [f"t{number}" for number in range(3)]
    stores = [timestamped_store(name, key=TEXT, value=TEXT) for name in names]
    tables = [
        builder.add_table(name, Topic(name, TEXT, TEXT), store=store)
        for name, store in zip(names, stores, strict=True)
    ]
    for name, one, other in (("j01", 0, 1), ("j12", 1, 2)):
        both = builder.join_tables(name, tables[one], tables[other], inner(lambda a, b: a + b))
        builder.add_sink(
            f"{name}-out", Topic(name, TEXT, TEXT), builder.to_stream(f"s{name}", both)
        )
    stream = builder.add_source("stream", LEFT)
    looked = builder.join_table("look", stream, tables[2], inner(lambda a, _: a))
    builder.add_sink("looked", Topic("looked", TEXT, TEXT), looked)
    found = executions(builder.build())
    assert all(found[name].startswith("records") for name in (*names, "j01", "j12", "look"))
    assert found["j12"].endswith("'j12' receives its changes or reads its store)")


def test_table_join_runs_by_records_if_one_record_may_reach_both_tables() -> None:
    builder: Any = TopologyBuilder("t")
    source = builder.add_table("all", LEFT, store=LEFTS)
    one, other = (builder.derive(name, source, lambda _, v: v) for name in ("one", "other"))
    both = builder.join_tables("both", one, other, inner(joined))
    builder.add_sink("out", OUT, builder.to_stream("last", both))
    found = executions(builder.build())
    assert found["both"] == "records (a record may reach both of its inputs)"


def test_failing_joiner_names_node_key_and_time() -> None:
    def fails(one: str, other: str) -> str:
        raise ValueError(f"no such pair: {one}{other}")

    builder: Any = TopologyBuilder("t")
    lefts = builder.add_table("lefts", LEFT, store=LEFTS)
    rights = builder.add_table("rights", RIGHT, store=RIGHTS)
    both = builder.join_tables("both", lefts, rights, inner(fails))
    builder.add_sink("out", OUT, builder.to_stream("last", both))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(RIGHT, "a", "A", timestamp=7)
        with pytest.raises(ProcessingError, match="no such pair: xA") as raised:
            driver.pipe(LEFT, "a", "x", timestamp=5)
    where = raised.value.where
    assert (where.node, where.key, where.timestamp) == ("both", "a", 7)
