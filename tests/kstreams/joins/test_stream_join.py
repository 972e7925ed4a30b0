"""Joins of two streams equal a plain model, record by record and batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import TEXT, Topic, TopologyBuilder
from kstreams.durations import milliseconds
from kstreams.errors import TopologyError
from kstreams.graph.topology import Topology
from kstreams.joins import inner, left, outer, within
from kstreams.processors.columns import Execution
from kstreams.processors.on_error import OnError
from kstreams.state.cache.resident import ResidentSlot
from kstreams.state.stores.join import tail
from kstreams.stores import join_store, key_value_store
from kstreams.testing import TopologyTestDriver
from tests.kstreams.joins.stream_models import (
    Came,
    Out,
    Spans,
    bag,
    merged,
    model_join,
    model_self_join,
    pair,
)

LEFT = Topic("left", TEXT, TEXT, nulls="pass", null_keys="pass")
RIGHT = Topic("right", TEXT, TEXT, nulls="pass", null_keys="pass")
TOPICS = (LEFT, RIGHT)
OUT = Topic("out", TEXT, TEXT)
PAIRS = join_store("pairs", key=TEXT, left=TEXT, right=TEXT)


def topology(
    spans: Spans,
    *,
    itself: bool = False,
    idle_timeout: timedelta | None = None,
    on_error: OnError = "fail",
    fails_on: str | None = None,
    execution: Execution = "auto",
) -> Topology:
    def checked(one: str | None, other: str | None) -> str:
        if fails_on is not None and fails_on in (one, other):
            raise ValueError(fails_on)
        return pair(one, other)

    makers: dict[str, Any] = {"inner": inner, "left": left, "outer": outer}
    builder = TopologyBuilder("join", idle_timeout=idle_timeout, on_error=on_error)
    lefts: Any = builder.add_source("left", LEFT)
    rights: Any = lefts if itself else builder.add_source("right", RIGHT)
    near = within(
        milliseconds(spans.before), milliseconds(spans.after), grace=milliseconds(spans.grace)
    )
    joined = builder.join_streams(
        "joined",
        lefts,
        rights,
        makers[spans.how](checked),
        within=near,
        store=PAIRS,
        execution=execution,
    )
    builder.add_sink("out", OUT, joined)
    return builder.build()


def came(driver: TopologyTestDriver) -> list[Out]:
    found = driver.read(OUT)
    return [(r.key, str(r.value), r.timestamp) for r in found]


def each(driver: TopologyTestDriver, records: Sequence[Came]) -> Iterator[list[Out]]:
    """Yield what comes out of each record."""
    for side, key, value, time in records:
        driver.write_bytes(
            TOPICS[side].name,
            None if key is None else key.encode(),
            None if value is None else value.encode(),
            timestamp=time,
        )
        driver.run()
        yield came(driver)


def batch(driver: TopologyTestDriver, records: Sequence[Came]) -> list[Out]:
    for side, key, value, time in records:
        driver.write_bytes(
            TOPICS[side].name,
            None if key is None else key.encode(),
            None if value is None else value.encode(),
            timestamp=time,
        )
    driver.run()
    return came(driver)


spans = st.builds(
    Spans,
    st.sampled_from(["inner", "left", "outer"]),
    st.integers(0, 8),
    st.integers(0, 8),
    st.integers(0, 8),
)
keys = st.sampled_from(["a", "a", "a", "b", "ab", None])
times = st.integers(-20, 40) | st.integers(0, 12)


@st.composite
def streams(draw: st.DrawFn) -> list[Came]:
    drawn = draw(st.lists(st.tuples(st.integers(0, 1), keys, st.booleans(), times), max_size=25))
    return [
        Came(side, key, f"v{n}" if has or n % 3 else None, time)
        for n, (side, key, has, time) in enumerate(drawn)
    ]


@settings(max_examples=40)
@given(spans=spans, records=streams())
def test_each_record_makes_what_the_model_says(spans: Spans, records: list[Came]) -> None:
    steps, dropped = model_join(spans, records)
    with TopologyTestDriver(topology(spans)) as driver:
        found = list(each(driver, records))
        assert [bag(step) for step in found] == [bag(step) for step in steps]
        assert driver.dropped == dropped


@settings(max_examples=40)
@given(spans=spans, records=streams(), cuts=st.lists(st.integers(1, 9), max_size=5))
def test_where_batches_are_cut_changes_nothing(
    spans: Spans, records: list[Came], cuts: list[int]
) -> None:
    order: list[Came] = []
    parts: list[list[Came]] = []
    rest = records
    for size in (*cuts, len(records) or 1):
        parts.append(rest[:size])
        order += merged(parts[-1])
        rest = rest[size:]
    with TopologyTestDriver(topology(spans)) as driver:
        one_by_one = [out for step in each(driver, order) for out in step]
    with TopologyTestDriver(topology(spans)) as driver:
        assert [out for part in parts for out in batch(driver, part)] == one_by_one
    steps, _ = model_join(spans, order)
    assert bag(one_by_one) == bag(out for step in steps for out in step)


@pytest.mark.parametrize("itself", [False, True], ids=["two", "one"])
@pytest.mark.parametrize("kept", ["in memory", "in blocks", "in rows", "in both"])
@settings(max_examples=30)
@given(spans=spans, records=streams(), cuts=st.lists(st.integers(1, 9), max_size=5))
def test_columns_give_what_records_give(
    kept: str, itself: bool, spans: Spans, records: list[Came], cuts: list[int]
) -> None:
    if itself:
        records = [record._replace(side=0) for record in records]
    parts = []
    for size in (*cuts, len(records) or 1):
        parts.append(records[:size])
        records = records[size:]
    found: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        remember(patch, kept)
        for execution in ("records", "columns"):
            made = topology(spans, itself=itself, execution=execution)
            with TopologyTestDriver(made) as driver:
                steps = [batch(driver, part) for part in parts]
                driver.close_windows()
                found.append((steps, came(driver), driver.dropped))
    assert found[1] == found[0]


def remember(patch: pytest.MonkeyPatch, kept: str) -> None:
    """Let joins by columns remember in one of the ways that depend on sizes and restarts."""
    if kept == "in blocks":
        patch.setattr(ResidentSlot, "take", lambda _: None)
    if kept in ("in rows", "in both"):
        patch.setattr(tail, "TAIL_BYTES", 0 if kept == "in rows" else 300)


@settings(max_examples=40)
@given(spans=spans, records=streams())
def test_a_stream_joins_itself(spans: Spans, records: list[Came]) -> None:
    own = [record._replace(side=0) for record in records if record.key is not None]
    steps = model_self_join(spans, own)
    with TopologyTestDriver(topology(spans, itself=True)) as driver:
        assert [bag(step) for step in each(driver, own)] == [bag(step) for step in steps]


def test_another_kind_of_store_is_refused() -> None:
    builder = TopologyBuilder("t")
    source = builder.add_source("left", Topic("left", TEXT, TEXT))
    store: Any = key_value_store("s", key=TEXT, value=TEXT)
    near = within(milliseconds(1), grace=milliseconds(0))
    with pytest.raises(TopologyError, match="join 'j' needs a join store"):
        builder.join_streams("j", source, source, inner(pair), within=near, store=store)
