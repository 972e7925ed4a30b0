"""Ready-made joiners give the same results by columns and by records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from kstreams import INT64, TEXT, Topic, TopologyBuilder, timestamped_store
from kstreams.joins import inner, left, left_value, merged, outer, pair, right_value
from kstreams.testing import TopologyTestDriver
from kstreams_json import json_serde
from tests.kstreams.joins.test_table_columns import BATCHES, written

ANY: Any = json_serde(object)
OUT = Topic("out", TEXT, ANY, nulls="pass", null_keys="pass")
ROWS = timestamped_store("users", key=TEXT, value=TEXT)


@pytest.mark.long
@pytest.mark.parametrize("value", [INT64, json_serde(int)], ids=["column", "objects"])
@pytest.mark.parametrize("function", [pair, left_value, right_value])
@pytest.mark.parametrize("how", [inner, left])
@settings(max_examples=15)
@given(batches=BATCHES)
def test_builtin_joiners_give_same_results_by_columns_and_records(
    value: Any, function: Any, how: Any, batches: Any
) -> None:
    found = []
    clicks = Topic("clicks", TEXT, value, nulls="pass", null_keys="pass")
    for execution in ("records", "columns"):
        builder: Any = TopologyBuilder("ready")
        stream = builder.add_source("clicks", clicks)
        table = builder.add_table("users", Topic("users", TEXT, TEXT), store=ROWS)
        node = builder.join_table("join", stream, table, how(function), execution=execution)
        builder.add_sink("out", OUT, node)
        with TopologyTestDriver(builder.build()) as driver:
            for batch in batches:
                written(driver, batch, value)
                driver.run()
            rows = driver.read_rows("out")
            found.append([(r.key, r.value, r.timestamp) for r in rows])
    assert found[0] == found[1]


def test_builtin_joiners_combine_left_and_right_value() -> None:
    assert pair(1, None) == (1, None)
    assert left_value(1, 2) == 1
    assert right_value(1, 2) == 2
    assert merged({"a": 1, "b": 1}, {"b": 2}) == {"a": 1, "b": 2}
    assert merged({"a": 1}, None) == {"a": 1}
    assert merged(None, {"b": 2}) == {"b": 2}


def test_builtin_joiners_join_tables_and_streams() -> None:
    builder: Any = TopologyBuilder("tables")
    some: Any = json_serde(dict[str, int])
    tables = [
        builder.add_table(n, Topic(n, TEXT, some), store=timestamped_store(n, key=TEXT, value=some))
        for n in ("one", "two")
    ]
    both = builder.join_tables("both", *tables, outer(merged))
    builder.add_sink("out", OUT, builder.to_stream("changes", both))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(Topic("one", TEXT, some), "k", {"a": 1})
        driver.pipe(Topic("two", TEXT, some), "k", {"b": 2})
        assert [record.value for record in driver.read(OUT)] == [{"a": 1}, {"a": 1, "b": 2}]
