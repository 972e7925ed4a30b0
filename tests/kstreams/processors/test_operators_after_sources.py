"""Stateless operators after sources: columns and records give the same results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import (
    INT64,
    TEXT,
    Record,
    Topic,
    TopologyBuilder,
    filter_,
    map_,
    map_values,
    rekey,
    timestamped_store,
)
from kstreams.errors import KStreamsError, ProcessingError
from kstreams.ids import TaskId
from kstreams.joins import left
from kstreams.testing import TopologyTestDriver
from kstreams.topology import to_stdout
from kstreams_json import json_serde

LISTS = json_serde(list[str])
ONE: Topic[Any, Any] = Topic("one", TEXT, LISTS, nulls="pass", null_keys="pass")
OTHER: Topic[Any, Any] = Topic("other", INT64, TEXT, nulls="pass", null_keys="pass")
OUT = Topic("out", TEXT, TEXT, nulls="pass")
LEFTS = timestamped_store("lefts", key=TEXT, value=LISTS)
RIGHTS = timestamped_store("rights", key=TEXT, value=TEXT)
FULL = timestamped_store("full", key=TEXT, value=TEXT)


def more(value: list[str] | None) -> list[str] | None:
    return None if value is None else [*value, "more"]


def topology(joins: str) -> Any:
    """Build two tables after operators, one of them with a new key, and their join."""
    builder: Any = TopologyBuilder("t")
    one = builder.add_source("one", ONE)
    one = builder.add_processor("some", filter_(lambda k, v: k != "b" or v is not None), one)
    one = builder.add_processor("more", map_values(more), one)
    other = builder.add_processor(
        "keyed", map_(lambda k, v: (str(k), v)), builder.add_source("other", OTHER)
    )
    other = builder.add_processor("again", rekey(lambda k, _: k[-1]), other)
    other = builder.repartition("by-name", other, key=TEXT, value=TEXT)
    lefts = builder.to_table("lefts", one, store=LEFTS)
    if joins == "foreign":
        rights = builder.to_table("rights", other, store=RIGHTS)
        by: Any = lambda _, v: v[0]  # noqa: E731
        both = builder.join_foreign(
            "both", lefts, rights, left(joined), by=by, store=FULL, value=LISTS
        )
    else:
        other = builder.add_processor("kept", filter_(lambda _, v: v != "z"), other)
        rights = builder.to_table("rights", other, store=RIGHTS)
        both = builder.join_tables("both", lefts, rights, left(joined))
    builder.add_sink("out", OUT, builder.to_stream("last", both))
    return builder.build()


def joined(one: list[str], other: str | None) -> str:
    return f"{'-'.join(one)}+{other}"


class ByRecord:
    """An interceptor of records; no columns run around it."""

    def bind(
        self, node: str, task: TaskId, call: Callable[[Record[Any, Any]], None]
    ) -> Callable[[Record[Any, Any]], None]:
        return call


ONES = st.tuples(
    st.just("one"),
    st.none() | st.sampled_from("12b"),
    st.none() | st.lists(st.sampled_from("123"), min_size=1, max_size=2),
)
OTHERS = st.tuples(
    st.just("other"), st.none() | st.integers(1, 13), st.none() | st.sampled_from("xyz")
)
BATCHES = st.lists(st.lists(st.tuples(ONES | OTHERS, st.integers(0, 30)), max_size=20), max_size=3)


@pytest.mark.long
@settings(max_examples=60)
@given(BATCHES, st.sampled_from(["tables", "foreign"]))
def test_operators_after_sources_give_same_results_by_columns_and_records(
    batches: list[list[Any]], joins: str
) -> None:
    made, found = topology(joins), []
    assert "execution: records" not in made.describe()
    for interceptors in ((), (ByRecord(),)):
        with TopologyTestDriver(made, partitions=2, interceptors=interceptors) as driver:
            for batch in batches:
                for (name, key, value), time in batch:
                    topic = ONE if name == "one" else OTHER
                    driver.write_bytes(
                        name,
                        None if key is None else topic.key.serialize(key),
                        None if value is None else topic.value.serialize(value),
                        timestamp=time,
                    )
                driver.run()
            rows = [(r.partition, r.key, r.value, r.timestamp) for r in driver.read_rows("out")]
            stores = [driver.store_contents(store) for store in (LEFTS, RIGHTS)]
            found.append((rows, stores, dict(driver.dropped)))
    assert found[0] == found[1]


def failing(number: int) -> int:
    return 1 // (number - 2)


def test_error_of_failing_operator_names_same_record_by_columns_as_by_records() -> None:
    builder = TopologyBuilder("t")
    numbers = Topic("numbers", TEXT, INT64)
    mapped = builder.add_processor(
        "map", map_values(failing), builder.add_source("numbers", numbers)
    )
    edge = builder.repartition("edge", mapped, key=TEXT, value=INT64)
    builder.add_sink("out", to_stdout(), edge)
    made = builder.build()
    assert "execution: columns" in made.describe()
    places = []
    for interceptors in ((), (ByRecord(),)):
        with TopologyTestDriver(made, interceptors=interceptors) as driver:
            driver.pipe(numbers, "a", 1, timestamp=3)
            for number in (1, 2, 3):
                driver.write(numbers, f"k{number}", number, timestamp=number)
            with pytest.raises(ProcessingError, match="ZeroDivisionError") as raised:
                driver.run()
        places.append(raised.value.where)
    assert places[0] == places[1]
    assert (places[0].offset, places[0].key) == (2, "k2")


PRICES: Topic[Any, Any] = Topic("prices", TEXT, json_serde(tuple[int, str]), nulls="pass")
WORDS: Topic[Any, Any] = Topic("words", TEXT, json_serde(tuple[int, str]), nulls="pass")


def with_length(value: tuple[int, str] | None) -> Any:
    if value is None:
        return None
    if value[1] == "none":
        return (None, "none")
    return len(value[1]), value[1]


def to_topic(sink: Topic[Any, Any]) -> Any:
    builder: Any = TopologyBuilder("t")
    source = builder.add_source("prices", PRICES)
    some = builder.add_processor("some", filter_(lambda k, v: k != "no"), source)
    made = builder.add_processor("made", map_values(with_length), some)
    builder.add_sink("out", sink, made)
    builder.add_sink("again", Topic("again", sink.key, sink.value, nulls="pass"), made)
    return builder.build()


def read_of(made: Any, batches: list[list[Any]], interceptors: Any) -> Any:
    """Return the output, or the place and text of the failure."""
    with TopologyTestDriver(made, partitions=2, interceptors=interceptors) as driver:
        for number, batch in enumerate(batches):
            for key, value, headers in batch:
                driver.write_bytes("prices", key, value, timestamp=number, headers=headers)
            try:
                driver.run()
            except KStreamsError as exc:
                return type(exc), exc.message, replace(exc.where, node=None)
        rows = [
            (r.partition, r.key, r.value, r.timestamp, r.headers)
            for name in ("out", "again")
            for r in driver.read_rows(name)
        ]
        return rows, dict(driver.dropped)


WRITTEN = st.sampled_from(
    [None, b'[1,"a"]', b'[2,"line\\n"]', b' [3, "bc"]', b'[1,"none"]', b"[1]", b"[1", b""]
)
TO_PRICES = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from([b"a", b"b", b"no"]), WRITTEN, st.sampled_from([(), (("h", b"1"),)])
        ),
        max_size=8,
    ),
    max_size=3,
)


@settings(max_examples=80)
@given(TO_PRICES)
def test_operators_after_sources_give_same_error_texts_by_columns_and_records(
    batches: list[list[Any]],
) -> None:
    made = to_topic(WORDS)
    assert made.describe().count("execution: columns") == 2
    assert read_of(made, batches, ()) == read_of(made, batches, (ByRecord(),))


def test_operator_with_mutable_results_runs_by_records() -> None:
    numbers: list[int] = []

    def all_so_far(value: tuple[int, str]) -> list[int]:
        numbers.append(value[0])
        return numbers

    builder: Any = TopologyBuilder("t")
    source = builder.add_source("prices", PRICES)
    kept = builder.add_processor("kept", map_values(all_so_far), source)
    builder.add_sink("out", Topic("out", TEXT, json_serde(list[int])), kept)
    with TopologyTestDriver(builder.build()) as driver:
        for number in range(3):
            driver.write(PRICES, "a", (number, ""), timestamp=number)
        driver.run()
        assert [row.value for row in driver.read_rows("out")] == [b"[0]", b"[0,1]", b"[0,1,2]"]


def test_operator_before_node_that_needs_records_runs_by_records() -> None:
    builder = TopologyBuilder("t")
    source = builder.add_source("one", ONE)
    builder.add_sink("out", to_stdout(), builder.add_processor("map", map_values(len), source))
    assert "execution" not in builder.build().describe()
