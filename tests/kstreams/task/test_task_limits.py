"""`TaskLimits` counts the records that reach the limits of a task."""

from __future__ import annotations

import pytest

from kstreams import INT64, TEXT, Topic, TopologyBuilder
from kstreams.graph.topology import PartitionGroup
from kstreams.operators import limit
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.task.task_limits import Allowance, Exceeded, TaskLimits

IN = Topic("in", TEXT, INT64)
OUT = Topic("out", TEXT, INT64)


def group(at_most: int) -> PartitionGroup:
    builder = TopologyBuilder("app")
    first = builder.add_processor("first", limit(at_most), builder.add_source("in", IN))
    builder.add_sink("out", OUT, first)
    return builder.build().groups[0]


def stops(limits: TaskLimits) -> bool:
    """Return whether the task stops; a function, because type checkers narrow attributes."""
    return limits.stops


def test_limit_admits_records_only_up_to_its_number() -> None:
    meta = TaskMeta()
    limits = TaskLimits(group(5), meta)
    assert [limits.admit("first", count) for count in (1, 3)] == [1, 3]
    assert not stops(limits)
    assert limits.admit("first", 3) == 1
    assert stops(limits)
    assert limits.admit("first", 2) == 0
    limits.end()
    assert meta.passed == {"first": 5}


def test_rollback_restores_limit_count_of_earlier_mark() -> None:
    limits = TaskLimits(group(2), TaskMeta())
    limits.admit("first", 1)
    mark = limits.mark()
    limits.admit("first", 1)
    assert stops(limits)
    limits.back(mark)
    assert not stops(limits)
    assert limits.admit("first", 2) == 1


def test_end_raises_if_task_passed_more_records_than_its_share() -> None:
    meta = TaskMeta(passed={"first": 1})
    limits = TaskLimits(group(9), meta)
    limits.begin({"first": Allowance(3, last=False)})
    assert limits.admit("first", 4) == 2
    assert not stops(limits)
    with pytest.raises(Exceeded) as caught:
        limits.end()
    assert caught.value.arrived == {"first": 5}
    assert meta.passed == {"first": 1}


def test_lower_limit_at_a_restart_keeps_the_number_of_passed_records() -> None:
    meta = TaskMeta(passed={"first": 6, "removed": 2})
    limits = TaskLimits(group(3), meta)
    assert stops(limits)
    assert limits.admit("first", 1) == 0
    limits.end()
    assert meta.passed == {"first": 6}


def test_limit_counts_in_task_meta_survive_conversion_to_json() -> None:
    meta = TaskMeta(passed={"first": 6})
    assert TaskMeta.from_json(meta.to_json()) == meta
    assert TaskMeta.from_json({}).passed == {}
