"""Changes of tables and foreign-key joins: columns and records give the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import TEXT, Record, Topic, Topology, TopologyBuilder, timestamped_store
from kstreams.emit import each_update
from kstreams.errors import ProcessingError
from kstreams.ids import TaskId
from kstreams.joins import inner, left
from kstreams.operators import map_values
from kstreams.testing import TopologyTestDriver
from kstreams_json import json_serde

LISTS = json_serde(list[str])
LEFT = Topic("left", TEXT, LISTS, nulls="pass")
RIGHT: Topic[Any, Any] = Topic("right", TEXT, TEXT, nulls="pass", null_keys="pass")
OUT, EACH = Topic("out", TEXT, TEXT, nulls="pass"), Topic("each", TEXT, TEXT, nulls="pass")
OTHERS = Topic("others", TEXT, TEXT, nulls="pass")
LEFTS = timestamped_store("lefts", key=TEXT, value=LISTS)
RIGHTS = timestamped_store("rights", key=TEXT, value=TEXT)
FULL = timestamped_store("full", key=TEXT, value=TEXT)


def joined(one: list[str], other: str | None) -> str:
    return f"{'-'.join(one)}+{other}"


JOINERS: dict[str, Any] = {"inner": inner(joined), "left": left(joined)}


def topology(how: str, *, derived: bool) -> Topology:
    builder = TopologyBuilder("t")
    lefts: Any = builder.add_table("lefts", LEFT, store=LEFTS)
    rights: Any = builder.add_table("rights", RIGHT, store=RIGHTS)
    builder.add_sink("others-out", OTHERS, builder.to_stream("others", rights))
    if derived:
        lefts = builder.derive("some", lefts, lambda _, v: v[1:] or None)
        rights = builder.derive("few", rights, lambda _, v: v if v != "y" else None)
    full = builder.join_foreign(
        "full",
        lefts,
        rights,
        JOINERS[how],
        by=lambda _, v: v[0] if v and v[0] != "-" else None,
        store=FULL,
        value=LISTS,
    )
    builder.add_sink("each-out", EACH, builder.to_stream("each", full, emit=each_update()))
    last = builder.add_processor("last", map_values(lambda v: v), builder.to_stream("l", full))
    builder.add_sink("out", OUT, last)
    return builder.build()


class ByRecord:
    """An interceptor of records; no columns run around it."""

    def bind(
        self, node: str, task: TaskId, call: Callable[[Record[Any, Any]], None]
    ) -> Callable[[Record[Any, Any]], None]:
        return call


NAMES = st.sampled_from(["", "a", "ab", "a\0", "b", "-"])
LEFT_ROWS = st.tuples(
    st.just("left"), st.sampled_from("klmn"), st.none() | st.lists(NAMES, max_size=3)
)
RIGHT_ROWS = st.tuples(
    st.just("right"), st.none() | NAMES, st.none() | st.sampled_from(["x", "y", "z"])
)
BATCHES = st.lists(
    st.lists(st.tuples(LEFT_ROWS | RIGHT_ROWS, st.integers(0, 30)), max_size=25), max_size=4
)


def test_foreign_key_join_runs_entirely_by_columns() -> None:
    for derived in (True, False):
        assert "execution: records" not in topology("left", derived=derived).describe()


@pytest.mark.long
@settings(max_examples=120)
@given(BATCHES, st.sampled_from(["inner", "left"]), st.booleans())
def test_foreign_join_gives_same_results_by_columns_and_records(
    batches: list[list[tuple[tuple[str, str | None, Any], int]]], how: str, derived: bool
) -> None:
    found = []
    for interceptors in ((), (ByRecord(),)):
        made = topology(how, derived=derived)
        counts = {"left": 2, "right": 3}
        with TopologyTestDriver(made, partitions=counts, interceptors=interceptors) as driver:
            for batch in batches:
                for (name, key, value), time in batch:
                    serde = LISTS if name == "left" else TEXT
                    data = None if value is None else serde.serialize(value)
                    encoded = None if key is None else TEXT.serialize(key)
                    driver.write_bytes(name, encoded, data, timestamp=time)
                driver.run()
            rows = [
                [(r.key, r.value, r.timestamp) for r in driver.read_rows(topic)]
                for topic in ("each", "out", "others")
            ]
            stores = [driver.store_contents(store) for store in (LEFTS, RIGHTS, FULL)]
            found.append((rows, stores, driver.dropped))
    assert found[0] == found[1]


def test_failing_joiner_names_its_node() -> None:
    def fails(_: list[str], __: str) -> str:
        raise ValueError("no such pair")

    builder = TopologyBuilder("t")
    lefts = builder.add_table("lefts", LEFT, store=LEFTS)
    rights = builder.add_table("rights", RIGHT, store=RIGHTS)
    builder.join_foreign("full", lefts, rights, inner(fails), by=lambda _, v: v[0], store=FULL)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(RIGHT, "a", "A")
        with pytest.raises(ProcessingError, match=r"no such pair .*node 'full\.foreign'"):
            driver.pipe(LEFT, "k", ["a"])
