"""Draw topologies of tables and joins, and records for them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from kstreams import INT64
from kstreams.partitioner import partition_of
from tests.support.generated.case import Batch, Case, RawRecord
from tests.support.generated.join_plan import STEPS, JoinPlan, Step
from tests.support.generated.topology_plan import DEAD_LETTERS, SinkPlan

__all__ = ("join_cases",)

_KEYS = "abcd"
_RATES = ("in0", "in0", "in0", "in1", "in2")
"""Topics of records: the stream has more records than the tables."""


@st.composite
def join_cases(draw: Any, *, most_steps: int = 4) -> Case:
    """Draw a case. The global table, if any, has all of its rows in the first batch."""
    kinds = st.lists(st.sampled_from(STEPS), min_size=1, max_size=most_steps)
    once = {"global", "loop"}
    names = draw(kinds)
    steps = tuple(
        draw(_steps(kind))
        for number, kind in enumerate(names)
        if kind not in once or kind not in names[:number]
    )
    count = draw(st.integers(1, 3))
    outputs = ["echo", *(f"out{number}" for number in range(len(steps)))]
    sinks = tuple(SinkPlan(name, ()) for name in outputs)
    topics = [f"in{number}" for number in range(4)] + [sink.name for sink in sinks]
    partitions = dict.fromkeys(topics, count) | {DEAD_LETTERS: 1}
    plan = JoinPlan((), (), sinks, partitions=partitions, steps=steps)
    batches, wall_ms = [], 0
    for number in range(draw(st.integers(1, 4))):
        records = draw(st.lists(_records(count), min_size=1, max_size=12))
        if number == 0 and any(step.kind == "global" for step in steps):
            records = [_record("in3", key, place, 0, count) for place, key in enumerate(_KEYS)]
        wall_ms += draw(st.integers(0, 40))
        batches.append(Batch(tuple(records), wall_ms))
    return Case(plan, tuple(batches))


def _steps(kind: str) -> st.SearchStrategy[Step]:
    small = st.integers(0, 5)
    hows = st.sampled_from(["inner", "left", "outer"])
    return st.builds(Step, st.just(kind), hows, small, small, st.integers(0, 30), st.booleans())


@st.composite
def _records(draw: Any, count: int) -> RawRecord:
    topic, key = draw(st.sampled_from(_RATES)), draw(st.sampled_from(_KEYS))
    deletes = topic != "in0" and draw(st.integers(0, 4)) == 0
    value = None if deletes else draw(st.integers(1, 60))
    return _record(topic, key, value, draw(st.integers(0, 80)), count)


def _record(topic: str, key: str, value: int | None, time: int, count: int) -> RawRecord:
    data = key.encode()
    encoded = None if value is None else INT64.serialize(value)
    return RawRecord(topic, partition_of(data, count), data, encoded, time)
