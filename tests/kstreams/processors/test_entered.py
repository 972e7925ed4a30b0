"""Operators that keep nothing, directly below sources: columns give what records give."""

from __future__ import annotations

from collections.abc import Callable
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
from kstreams.errors import ProcessingError
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
    """Build two tables of what passes operators, one of them keyed anew, and a join of both."""
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
    """An interceptor of records alone: nothing runs by columns around it."""

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


@settings(max_examples=60)
@given(BATCHES, st.sampled_from(["tables", "foreign"]))
def test_columns_give_what_records_give(batches: list[list[Any]], joins: str) -> None:
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


def test_an_operator_that_raises_names_its_record_as_by_records() -> None:
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


def test_an_operator_above_what_may_ask_for_its_record_works_by_records() -> None:
    builder = TopologyBuilder("t")
    source = builder.add_source("one", ONE)
    builder.add_sink("out", to_stdout(), builder.add_processor("map", map_values(len), source))
    assert "execution" not in builder.build().describe()
