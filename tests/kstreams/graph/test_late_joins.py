"""Stream joins and `deduplicate` get windowed results in time, or the build warns."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder
from kstreams.aggregators import count
from kstreams.durations import minutes
from kstreams.emit import each_update, on_close
from kstreams.errors import LateResultsWarning
from kstreams.joins import inner, left, outer, within
from kstreams.operators import by_key, deduplicate
from kstreams.stores import join_store, window_store
from kstreams.streams import Streams
from kstreams.testing import TopologyTestDriver
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate

TEXTS = Topic("texts", key=TEXT, value=TEXT)
OTHERS = Topic("others", key=TEXT, value=TEXT)
MINUTE = TumblingWindows(minutes(1))
BY_MINUTE = windowed(TEXT, MINUTE)
COUNTS = Topic("counts", key=BY_MINUTE, value=INT64)
OUT = Topic("out", key=BY_MINUTE, value=TEXT)
NEAR = within(timedelta(0), grace=timedelta(0))


def both(one: int | None, two: int | None) -> str:
    return f"{one} {two}"


def counted(builder: Any, emit: Any) -> Any:
    """Add counts by minute to a builder, and return their node."""
    store = window_store("counted", key=TEXT, value=INT64)
    supplier = windowed_aggregate(MINUTE, count(), store=store, emit=emit)
    return builder.add_processor("count", supplier, builder.add_source("texts", TEXTS))


def joined(make: Callable[[Any], Any], emit: Any, *, edge: bool = False) -> Any:
    """Return a builder that joins counts with a topic."""
    builder: Any = TopologyBuilder("joined")
    node = counted(builder, emit)
    other = builder.add_source("counts", COUNTS)
    if edge:
        node = builder.repartition("edge", node, key=BY_MINUTE, value=INT64)
    store = join_store("join", key=BY_MINUTE, left=INT64, right=INT64)
    node = builder.join_streams("join", node, other, make(both), within=NEAR, store=store)
    builder.add_sink("out", OUT, node)
    return builder


def deduplicated(emit: Any, *, edge: bool = False) -> Any:
    """Return a builder that deduplicates counts."""
    builder: Any = TopologyBuilder("deduplicated")
    node = counted(builder, emit)
    if edge:
        node = builder.repartition("edge", node, key=BY_MINUTE, value=INT64)
    ids = deduplicate(by_key(), id=BY_MINUTE, within=minutes(1), store="ids", late="drop")
    node = builder.add_processor("distinct", ids, node)
    builder.add_sink("out", COUNTS, node)
    return builder


def warned(builder: Any) -> list[tuple[str, str, bool]]:
    """Build a topology, and return its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        builder.build()
    found: list[Any] = [each.message for each in caught]
    assert {type(each) for each in found} <= {LateResultsWarning}
    return [(each.node, each.above, each.same_task) for each in found]


@pytest.mark.parametrize("make", [left, outer])
def test_join_that_forwards_unmatched_results_warns_of_delayed_results_in_its_task(
    make: Any,
) -> None:
    assert warned(joined(make, on_close())) == [("join", "count", True)]
    assert warned(joined(make, each_update())) == []
    assert warned(joined(make, on_close(), edge=True)) == []


def test_inner_join_of_delayed_results_has_no_late_records() -> None:
    assert warned(joined(inner, on_close())) == []


def test_deduplicate_warns_of_delayed_results_in_its_task() -> None:
    assert warned(deduplicated(on_close())) == [("distinct", "count", True)]
    assert warned(deduplicated(each_update())) == []
    assert warned(deduplicated(on_close(), edge=True)) == []


def per_minute(streams: Streams, topic: Topic[str, str], emit: Any) -> Any:
    """Return counts of a topic by minute."""
    return streams.stream(topic).group_by_key().windowed_by(MINUTE, emit=emit).count()


def joined_counts(how: str, emit: Any = on_close()) -> Topology:  # noqa: B008  # frozen
    """Return a topology of streams that joins counts of two topics."""
    streams = Streams("joined")
    one, two = per_minute(streams, TEXTS, emit), per_minute(streams, OTHERS, emit)
    near = two.within(timedelta(0), grace=timedelta(0))
    getattr(one, how)(near, both, value=TEXT).to(OUT)
    return streams.build()


def edges(topology: Topology) -> int:
    return topology.describe().count("Repartition: ") // 2


def test_streams_put_edges_before_joins_that_keep_unmatched_delayed_results() -> None:
    assert [edges(joined_counts(how)) for how in ("left_join", "outer_join")] == [2, 2]
    assert edges(joined_counts("join")) == 0
    assert edges(joined_counts("outer_join", each_update())) == 0


def test_streams_put_one_edge_before_a_join_of_delayed_results_with_a_topic() -> None:
    streams = Streams("joined")
    near = streams.stream(COUNTS).within(timedelta(0), grace=timedelta(0))
    per_minute(streams, TEXTS, on_close()).left_join(near, both, value=TEXT).to(OUT)
    assert edges(streams.build()) == 1


def test_streams_put_one_edge_before_a_join_of_delayed_results_with_themselves() -> None:
    streams = Streams("joined")
    counts = per_minute(streams, TEXTS, on_close())
    near = counts.within(timedelta(0), grace=timedelta(0))
    counts.left_join(near, both, value=TEXT).to(OUT)
    assert edges(streams.build()) == 1


def test_streams_put_an_edge_before_deduplicate_of_delayed_results() -> None:
    for emit, count_ in ((on_close(), 1), (each_update(), 0)):
        streams = Streams("distinct")
        counts = per_minute(streams, TEXTS, emit)
        counts.deduplicate(by_key(), within=minutes(1), late="drop").to(COUNTS)
        assert edges(streams.build()) == count_


@pytest.mark.parametrize("how", ["left_join", "outer_join"])
def test_delayed_results_of_streams_are_joined_with_their_partners_whatever_closes_the_windows(
    how: str,
) -> None:
    with TopologyTestDriver(joined_counts(how), partitions=1) as driver:
        for minute in (0, 1, 2, 20):  # the last record closes all windows at once
            for topic in (TEXTS, OTHERS):
                driver.write(topic, "a", "", timestamp=minute * 60_000)
        driver.run()
        found = {each.key.start_ms // 60_000: each.value for each in driver.read(OUT)}
    assert found == {0: "1 1", 1: "1 1", 2: "1 1"}


def test_delayed_results_of_streams_are_not_late_for_deduplicate() -> None:
    streams = Streams("distinct")
    counts = per_minute(streams, TEXTS, on_close())
    counts.deduplicate(by_key(), within=minutes(1), late="drop").to(COUNTS)
    with TopologyTestDriver(streams.build(), partitions=1) as driver:
        for minute in (0, 1, 2, 20):
            driver.write(TEXTS, "a", "", timestamp=minute * 60_000)
        driver.run()
        found = [each.key.start_ms // 60_000 for each in driver.read(COUNTS)]
    assert found == [0, 1, 2]
