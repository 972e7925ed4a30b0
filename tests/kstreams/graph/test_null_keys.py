"""Null keys at a repartition: rejected by type, or distributed round-robin."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import INT64, TEXT, Topic, TopologyBuilder, aggregate, timestamped_store
from kstreams.aggregators import count
from kstreams.errors import TopologyError
from kstreams.processors.columns import Execution
from kstreams.testing import TopologyTestDriver

IN = Topic("in", TEXT, INT64, null_keys="pass")
OUT = Topic("out", TEXT, INT64, null_keys="pass")
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)


def test_repartition_refuses_keys_that_may_be_none_and_names_option() -> None:
    builder = TopologyBuilder("t")
    source: Any = builder.add_source("in", IN)
    moved = builder.repartition("moved", source, key=TEXT, value=INT64)
    builder.add_sink("out", OUT, moved)
    with pytest.raises(TopologyError) as caught:
        builder.build()
    (problem,) = caught.value.problems
    assert problem == (
        "node 'moved' takes a key of type str, but 'in' forwards str | None: pass null_keys='pass' "
        "to the repartition, or drop records without a key before it"
    )


def test_repartition_distributes_null_keys_round_robin() -> None:
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN)
    moved = builder.repartition("moved", source, key=TEXT, value=INT64, null_keys="pass")
    builder.add_sink("out", OUT, moved)
    with TopologyTestDriver(builder.build(), partitions=2) as driver:
        for number in range(4):
            driver.write(IN, None, number, partition=0)
        driver.write(IN, "a", 9)
        driver.run()
        found = driver.read(OUT)
        assert sorted((record.key or "", record.value) for record in found) == [
            *(("", number) for number in range(4)),
            ("a", 9),
        ]
        assert [driver.stream_time("moved", number) for number in range(2)] == [0, 0]


def test_repartition_with_null_keys_has_optional_key_type() -> None:
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN)
    moved = builder.repartition("moved", source, key=TEXT, value=INT64, null_keys="pass")
    strict = Topic("strict", TEXT, INT64)
    builder.add_sink("out", strict, moved)  # type: ignore[misc]  # the type error under test
    with pytest.raises(TopologyError, match="takes a key of type str, but 'moved' forwards str"):
        builder.build()


@pytest.mark.parametrize("execution", ["records", "columns"])
def test_aggregation_counts_null_keys_as_dropped(execution: Execution) -> None:
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN)
    moved = builder.repartition("moved", source, key=TEXT, value=INT64, null_keys="pass")
    counted = aggregate(count(), store=COUNTS, execution=execution)
    node = builder.add_processor("count", counted, moved)  # type: ignore[arg-type]  # drops them
    counts: Any = node
    builder.add_sink("out", OUT, counts)
    with TopologyTestDriver(builder.build(), partitions=2) as driver:
        for key in (None, "a", None, "a"):
            driver.write(IN, key, 1)
        driver.run()
        assert driver.read_values(OUT) == {"a": 2}
        assert driver.dropped == {"null-key": 2}
