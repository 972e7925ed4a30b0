"""Joins of two streams equal a model, record by record and batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Literal

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
from kstreams.processors.peek import peek
from kstreams.state.cache.resident import ResidentSlot
from kstreams.state.stores.join import tail
from kstreams.stores import join_store, key_value_store
from kstreams.testing import TopologyTestDriver
from tests.support.models.stream_join_models import (
    InputRecord,
    Out,
    Spans,
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

Itself = Literal["no", "one node", "two nodes"]
"""The sides of the join: two streams, or one stream as one node or as two nodes."""


def topology(
    spans: Spans,
    *,
    itself: Itself = "no",
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
    rights: Any = lefts
    if itself == "no":
        rights = builder.add_source("right", RIGHT)
    elif itself == "two nodes":
        rights = builder.add_processor("same", peek(lambda _, __: None), lefts)
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


def read_results(driver: TopologyTestDriver) -> list[Out]:
    """Return the results; assert that each has the headers of its own record."""
    return [out for out, _ in with_headers(driver)]


def with_headers(driver: TopologyTestDriver) -> list[tuple[Out, str]]:
    """Return each result with the value of its header."""
    found: list[tuple[Out, str]] = []
    for record in driver.read(OUT):
        [(_, data)] = record.headers
        text = (data or b"").decode()
        assert text in str(record.value).split("+")
        found.append(((record.key, str(record.value), record.timestamp), text))
    return found


def write(driver: TopologyTestDriver, record: InputRecord) -> None:
    """Write a record with its value in a header."""
    side, key, value, time = record
    data = None if value is None else value.encode()
    driver.write_bytes(
        TOPICS[side].name,
        None if key is None else key.encode(),
        data,
        timestamp=time,
        headers=(("value", data),),
    )


def each(driver: TopologyTestDriver, records: Sequence[InputRecord]) -> Iterator[list[Out]]:
    """Yield the results of each record; a pair has the headers of the later record."""
    for record in records:
        write(driver, record)
        driver.run()
        found = with_headers(driver)
        for (_, value, _), header in found:
            both = value.split("+")
            assert "None" in both or header == record.value
        yield [out for out, _ in found]


def batch(driver: TopologyTestDriver, records: Sequence[InputRecord]) -> list[Out]:
    for record in records:
        write(driver, record)
    driver.run()
    return read_results(driver)


lengths = st.sampled_from((0, 0, 1, 2)) | st.integers(0, 8)
spans = st.builds(Spans, st.sampled_from(["inner", "left", "outer"]), lengths, lengths, lengths)
executions = st.sampled_from(("records", "columns"))
keys = st.sampled_from(["a", "a", "a", "b", "ab", None])
times = st.integers(-20, 40) | st.integers(0, 12) | st.integers(0, 5)


@st.composite
def streams(draw: st.DrawFn) -> list[InputRecord]:
    drawn = draw(st.lists(st.tuples(st.integers(0, 1), keys, st.booleans(), times), max_size=25))
    return [
        InputRecord(side, key, f"v{n}" if has or n % 3 else None, time)
        for n, (side, key, has, time) in enumerate(drawn)
    ]


@settings(max_examples=40)
@given(spans=spans, records=streams())
def test_stream_join_equals_model(spans: Spans, records: list[InputRecord]) -> None:
    steps, dropped = model_join(spans, records)
    with TopologyTestDriver(topology(spans)) as driver:
        assert list(each(driver, records)) == steps
        assert driver.dropped == dropped


short = st.sampled_from((0, 0, 1, 2))


@settings(max_examples=100)
@given(
    spans=st.builds(Spans, st.just("inner"), short, short, short),
    sides_and_times=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4)), max_size=6),
    execution=executions,
)
def test_record_joins_all_partners_within_range_until_window_closes(
    spans: Spans, sides_and_times: list[tuple[int, int]], execution: Execution
) -> None:
    """Checks the contract of `within` to the millisecond, however the join remembers records."""
    records = [
        InputRecord(side, "a", f"v{n}", time) for n, (side, time) in enumerate(sides_and_times)
    ]
    look = (spans.after, spans.before)
    with TopologyTestDriver(topology(spans, execution=execution)) as driver:
        found = [set(step) for step in each(driver, records)]
    for place, (side, key, value, now) in enumerate(records):
        stream_time = max(record.time for record in records[: place + 1])
        if now + look[side] + spans.grace < stream_time:
            continue
        for other in records[:place]:
            near = now - look[1 - side] <= other.time <= now + look[side]
            if near and other.side != side:
                both = pair(other.value, value) if side else pair(value, other.value)
                assert (key, both, max(now, other.time)) in found[place]


@settings(max_examples=40)
@given(spans=spans, records=streams(), cuts=st.lists(st.integers(1, 9), max_size=5))
def test_results_do_not_depend_on_batch_boundaries(
    spans: Spans, records: list[InputRecord], cuts: list[int]
) -> None:
    order: list[InputRecord] = []
    parts: list[list[InputRecord]] = []
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
    assert one_by_one == [out for step in steps for out in step]


@pytest.mark.parametrize("itself", ["no", "one node"])
@pytest.mark.parametrize("kept", ["in memory", "in blocks", "in rows", "in both"])
@settings(max_examples=30)
@given(spans=spans, records=streams(), cuts=st.lists(st.integers(1, 9), max_size=5))
def test_stream_join_gives_same_results_by_columns_and_records(
    kept: str, itself: Itself, spans: Spans, records: list[InputRecord], cuts: list[int]
) -> None:
    if itself == "one node":
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
                steps = []
                for part in parts:
                    for record in part:
                        write(driver, record)
                    driver.run()
                    steps.append(with_headers(driver))
                driver.close_windows()
                found.append((steps, with_headers(driver), driver.dropped))
    assert found[1] == found[0]


def remember(patch: pytest.MonkeyPatch, kept: str) -> None:
    """Set how column joins remember records; the choice depends on sizes and restarts."""
    if kept == "in blocks":
        patch.setattr(ResidentSlot, "take", lambda _: None)
    if kept in ("in rows", "in both"):
        patch.setattr(tail, "TAIL_BYTES", 0 if kept == "in rows" else 300)


@pytest.mark.parametrize(
    ("itself", "execution"),
    [("one node", "records"), ("one node", "columns"), ("two nodes", "records")],
)
@settings(max_examples=40)
@given(spans=spans, records=streams())
def test_self_join_of_one_node_and_of_two_nodes_are_equal(
    itself: Itself, execution: Execution, spans: Spans, records: list[InputRecord]
) -> None:
    own = [record._replace(side=0) for record in records]
    steps = model_self_join(spans, own)
    made = topology(spans, itself=itself, execution=execution)
    with TopologyTestDriver(made) as driver:
        assert list(each(driver, own)) == steps


def test_store_of_another_kind_is_rejected() -> None:
    builder = TopologyBuilder("t")
    source = builder.add_source("left", Topic("left", TEXT, TEXT))
    store: Any = key_value_store("s", key=TEXT, value=TEXT)
    near = within(milliseconds(1), grace=milliseconds(0))
    with pytest.raises(TopologyError, match="join 'j' needs a join store"):
        builder.join_streams("j", source, source, inner(pair), within=near, store=store)
