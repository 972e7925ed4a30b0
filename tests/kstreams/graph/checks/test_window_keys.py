"""Windowed keys are written only with a serde of their windows; other topologies are rejected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from kstreams import INT64, TEXT, Serde, Topic, Topology, TopologyBuilder, map_values, rekey
from kstreams.aggregators import count
from kstreams.durations import minutes, seconds
from kstreams.errors import TopologyError
from kstreams.io import topic_by
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.window.kind import window_store
from kstreams.streams import Streams
from kstreams.windows import (
    CalendarWindows,
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    UnlimitedWindows,
    split_late,
    windowed,
    windowed_aggregate,
)
from tests.kstreams.streams.shop import line

MINUTE = TumblingWindows(minutes(1), grace=seconds(10))
VISIT = SessionWindows(minutes(30))
TEXTS = Topic("texts", key=TEXT, value=TEXT)

KINDS: dict[str, Any] = {
    "minute": MINUTE,
    "hour": TumblingWindows(minutes(60)),
    "hopping": HoppingWindows(minutes(1), minutes(1)),
    "sliding": SlidingWindows(minutes(1)),
    "session": VISIT,
    "day": CalendarWindows("day"),
    "unlimited": UnlimitedWindows(),
}


@dataclass(frozen=True)
class Sevens:
    """Custom windows without a grace."""

    offset: int = 2
    close_delay_ms: int = 0
    close_interval_ms: int = 1

    def starts(self, timestamp_ms: int) -> list[int]:
        return [(timestamp_ms - self.offset) // 7 * 7 + self.offset]

    def end(self, start_ms: int) -> int:
        return start_ms + 7


class Plain:
    """Custom windows that cannot be compared."""

    close_delay_ms, close_interval_ms = 0, 1

    def starts(self, timestamp_ms: int) -> list[int]:
        return [timestamp_ms]

    def end(self, start_ms: int) -> int:
        return start_ms + 1


def counts(builder: Any, windows: Any, key: Serde[Any] = TEXT) -> Any:
    """Return a node that counts texts by windows."""
    make: Any = window_store
    if isinstance(windows, (SessionWindows, SlidingWindows)):
        make = session_store if isinstance(windows, SessionWindows) else sliding_store
    supplier: Any = windowed_aggregate(windows, count(), store=make("state", key=key, value=INT64))
    return builder.add_processor("counts", supplier, builder.add_source("texts", TEXTS))


def problems(wire: Callable[[Any], object]) -> tuple[str, ...]:
    """Build a topology, and return its problems."""
    builder = TopologyBuilder("windows")
    wire(builder)
    try:
        builder.build()
    except TopologyError as error:
        return error.problems
    return ()


def sink_problems(results: Any, topic: Any, key: Serde[Any] = TEXT) -> tuple[str, ...]:
    """Return the problems of a sink with keys of `topic` windows for results of other windows."""
    out: Any = Topic("out", key=windowed(key, topic), value=INT64, nulls="pass")
    return problems(lambda b: b.add_sink("out", out, counts(b, results)))


@pytest.mark.parametrize(("results", "topic"), [*product(KINDS, KINDS)])
def test_topic_accepts_its_own_windows_only_unless_its_keys_have_both_bounds(
    results: str, topic: str
) -> None:
    found = sink_problems(KINDS[results], KINDS[topic])
    assert bool(found) == (results != topic and topic not in {"session", "day"})


@pytest.mark.parametrize(
    ("results", "topic", "accepted"),
    [
        (MINUTE, TumblingWindows(minutes(1)), True),  # no encoding has the grace
        (VISIT, SessionWindows(minutes(5)), True),
        (CalendarWindows("day"), CalendarWindows("week"), True),
        (MINUTE, TumblingWindows(minutes(2)), False),
        (HoppingWindows(minutes(2), minutes(1)), HoppingWindows(minutes(2), seconds(30)), False),
        (SlidingWindows(minutes(1)), SlidingWindows(minutes(2)), False),
        (Sevens(), Sevens(), True),
        (Sevens(), Sevens(3), False),
        (Plain(), Plain(), True),
        (Plain(), Sevens(), False),
    ],
)
def test_topic_accepts_windows_that_its_key_serde_encodes_unchanged(
    results: Any, topic: Any, accepted: bool
) -> None:
    assert (sink_problems(results, topic) == ()) == accepted


def test_problem_names_topic_both_windows_and_nodes() -> None:
    (problem,) = sink_problems(VISIT, MINUTE)
    assert problem == (
        "node 'out': 'counts' forwards keys of SessionWindows(gap=0:30:00), but the key serde of "
        "topic 'out' has TumblingWindows(size=0:01:00): give it key=windowed(..., windows) with "
        "the windows of the aggregation"
    )


def test_problem_of_stream_has_lines_of_sink_and_aggregation() -> None:
    streams = Streams("visits")
    texts = streams.stream(TEXTS).group_by_key()
    counted = texts.windowed_by(VISIT).count().drop_nulls(); first = line()  # fmt: skip  # noqa: E702
    out = Topic("per-minute", key=windowed(TEXT, MINUTE), value=INT64)
    counted.to(out); second = line()  # fmt: skip  # noqa: E702
    with pytest.raises(TopologyError) as caught:
        streams.build()
    (problem,) = caught.value.problems
    assert "keys of SessionWindows(gap=0:30:00), but the key serde of topic 'per-minute'" in problem
    assert f"'to-per-minute' at {second}" in problem
    assert first in problem


def test_topic_of_other_inner_key_is_a_problem_with_both_types() -> None:
    (problem,) = sink_problems(MINUTE, MINUTE, key=INT64)
    assert "keys of type Windowed[str], but the key serde of topic 'out'" in problem
    assert "is for Windowed[int]" in problem


def test_topic_of_plain_keys_is_a_problem_with_key_type_and_windows() -> None:
    (problem,) = problems(
        lambda b: b.add_sink("out", Topic("out", key=TEXT, value=INT64), counts(b, MINUTE))
    )
    assert "takes a key of type str, but 'counts' forwards Windowed[str]: " in problem
    assert "give it key=windowed(..., TumblingWindows(size=0:01:00))" in problem


def below(builder: Any, node: Any) -> Any:
    return builder.add_processor("kept", map_values(str), node)


HOURS: Any = windowed(TEXT, KINDS["hour"])


def to_choice(b: Any) -> None:
    b.add_sink("out", topic_by(lambda _: "out", key=HOURS, value=INT64), counts(b, MINUTE))


def to_edge(b: Any) -> None:
    edge = b.repartition("out", counts(b, MINUTE), key=HOURS, value=INT64)
    b.to_table("rows", edge, store=timestamped_store("rows", key=HOURS, value=INT64))


def to_store(b: Any) -> None:
    b.to_table("out", counts(b, MINUTE), store=timestamped_store("rows", key=HOURS, value=INT64))


def to_loop(b: Any) -> None:
    loop = b.add_loop("loop", key=HOURS, value=INT64)
    b.add_sink("same", Topic("same", HOURS, INT64), loop)
    b.close_loop(loop, counts(b, MINUTE))


def of_merged_kinds(b: Any) -> None:
    hours = b.add_source("hours", Topic("hours", HOURS, TEXT))
    both = b.merge("both", hours, below(b, counts(b, MINUTE)))
    b.add_sink("out", Topic("out", HOURS, TEXT), both)


def of_late(b: Any) -> None:
    supplier: Any = windowed_aggregate(
        MINUTE, count(), store=window_store("state", key=TEXT, value=INT64)
    )
    results, _ = split_late(b, "counts", supplier, b.add_source("texts", TEXTS))
    b.add_sink("out", Topic("out", HOURS, INT64), results)


@pytest.mark.parametrize("wire", [to_choice, to_edge, to_store, to_loop, of_merged_kinds, of_late])
def test_each_place_that_writes_other_windows_is_a_problem(wire: Callable[[Any], object]) -> None:
    (problem,) = problems(wire)
    assert "forwards keys of TumblingWindows(size=0:01:00), but the key serde of " in problem
    assert "has TumblingWindows(size=1:00:00)" in problem


def test_keys_of_unknown_windows_are_accepted() -> None:
    def wire(b: Any) -> None:
        moved = b.add_processor("moved", rekey(lambda _, text: text), counts(b, MINUTE))
        b.add_sink("out", Topic("out", HOURS, INT64), moved)

    assert problems(wire) == ()


def test_late_records_of_windows_have_plain_keys() -> None:
    builder = TopologyBuilder("late")
    supplier: Any = windowed_aggregate(
        MINUTE, count(), store=window_store("state", key=TEXT, value=INT64)
    )
    results, late = split_late(builder, "counts", supplier, builder.add_source("texts", TEXTS))
    shown: Any = builder.add_processor("shown", map_values(str), late)
    builder.add_sink("late", Topic("late", TEXT, TEXT), shown)
    builder.add_sink("out", Topic("out", windowed(TEXT, MINUTE), INT64), results)
    assert isinstance(builder.build(), Topology)
