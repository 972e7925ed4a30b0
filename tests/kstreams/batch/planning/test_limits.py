"""Limits of records shared by the tasks of a query: exactly the limit passes."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Emitter, Record, Topic, Topology, TopologyBuilder
from kstreams.batch.messages.oversized_batch import Refusal
from kstreams.batch.planning.limits import QueryLimits
from kstreams.checkpoint.planning.plans import Plan
from kstreams.ids import TopicPartition
from kstreams.operators import flat_map_values, limit, rekey
from kstreams.state.log.fields import Fields
from kstreams.task.task_limits import Allowance
from tests.support.apps.one_query import WholeQuery

IN = Topic("in", TEXT, INT64)
OUT = Topic("out", TEXT, INT64)


def topology(at_most: int, above: int = 1_000_000, *, edge: bool = False) -> Topology:
    """Two limits in a row, in one stage or in two."""
    builder = TopologyBuilder("whole")
    node = builder.add_source("in", IN)
    node = builder.add_processor("upper", limit(above), node)
    node = builder.add_processor("each", flat_map_values(lambda value: [value] * (value % 3)), node)
    if edge:
        keyed = builder.add_processor("keyed", rekey(lambda key, value: f"{key}{value}"), node)
        node = builder.repartition("edge", keyed, key=TEXT, value=INT64)
    builder.add_sink("out", OUT, builder.add_processor("lower", limit(at_most), node))
    return builder.build()


def limits(at_most: int, tasks: int) -> QueryLimits:
    return QueryLimits(topology(at_most).groups, [tasks])


@given(
    at_most=st.integers(1, 50),
    passed=st.lists(st.integers(0, 10), min_size=2, max_size=5),
    records=st.lists(st.integers(0, 100), min_size=5, max_size=5),
    more=st.lists(st.integers(0, 60), min_size=5, max_size=5),
)
def test_limit_shares_and_later_grants_do_not_exceed_limit_in_total(
    at_most: int, passed: list[int], records: list[int], more: list[int]
) -> None:
    at_most = max(at_most, sum(passed))
    tasks = range(len(passed))
    made = limits(at_most, len(passed))
    counts = {"lower": dict(enumerate(passed))}
    shares = made.shares(counts, {(0, task): records[task] for task in tasks}, {})["lower"]
    assert sum(share.up_to for share in shares.values()) == at_most
    assert all(shares[task].up_to >= passed[task] for task in tasks)
    arrived = {task: passed[task] + more[task] for task in tasks}
    short = {task: count for task, count in arrived.items() if count > shares[task].up_to}
    if any(share.last for share in shares.values()) or not short:
        return
    enough = {task: count for task, count in arrived.items() if task not in short}
    granted = made.grant({"lower": shares}, {"lower": enough}, {"lower": short})["lower"]
    assert sum(share.up_to for share in granted.values()) == min(at_most, sum(arrived.values()))
    assert {task: granted[task].up_to for task in enough} == enough
    assert all(shares[task].up_to <= granted[task].up_to <= arrived[task] for task in short)
    dropped = any(granted[task].up_to < arrived[task] for task in short)
    assert dropped == (sum(arrived.values()) > at_most)
    assert all(granted[task].last == dropped for task in short)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(
    numbers=st.lists(st.integers(0, 8), max_size=60),
    at_most=st.integers(1, 30),
    above=st.integers(1, 60),
    partitions=st.integers(1, 3),
    most=st.integers(1, 30),
    dies=st.sets(st.integers(0, 5)),
    edge=st.booleans(),
)
def test_limit_passes_exactly_its_number_of_records_despite_crashes(
    numbers: list[int],
    at_most: int,
    above: int,
    partitions: int,
    most: int,
    dies: set[int],
    edge: bool,
) -> None:
    made = topology(at_most, above, edge=edge)
    with TemporaryDirectory() as home:
        query = WholeQuery(Path(home), made, partitions=partitions, most=most)
        with Emitter(IN, query.connection) as emitter:
            emitter.emit_many(Record(f"k{n % 5}", n, place) for place, n in enumerate(numbers))
        query.start()
        attempts = 0
        while query.batch(dies=attempts in dies):
            attempts += 1
        last = query.driver.last
        totals = {} if last is None or last.totals is None else last.totals.nodes
        upper, lower = (totals.get(name) for name in ("upper", "lower"))
        came, passed = 0 if upper is None else upper.records_out, len(query.published("out"))
        is_full = passed == at_most
        assert came == min(above, len(numbers)) or (is_full and came <= above)
        assert (0 if lower is None else lower.records_out) == passed
        assert passed <= at_most
        assert is_full or passed == (0 if lower is None else lower.records_in)
        assert query.driver.is_finished() == (is_full or came == above)
        again = WholeQuery(Path(home), made, partitions=partitions, most=most)
        again.start()
        assert not again.batch()


def test_batch_that_reaches_limit_in_one_task_ends_at_that_record(tmp_path: Path) -> None:
    query = WholeQuery(tmp_path, topology(4), most=50)
    with Emitter(IN, query.connection) as emitter:
        emitter.emit_many(Record("k", 1, place) for place in range(20))
    query.start()
    query.run()
    assert query.driver.last is not None
    assert query.driver.last.positions == {TopicPartition("in", 0): 4}
    assert query.driver.planner.stopped == {"in"}
    assert query.driver.planner.behind() == {}


def test_plan_and_refusal_with_limits_survive_conversion_to_json() -> None:
    plan = Plan(
        {(0, 1): ()}, limits={"first": {0: Allowance(3, last=True), 1: Allowance(0, last=False)}}
    )
    assert Plan.from_json(Fields(json.loads(json.dumps(plan.to_json())))) == plan
    refusal = Refusal((), arrived={"first": {2: 9}})
    assert Refusal.from_json(Fields(json.loads(json.dumps(refusal.to_json())))) == refusal


@pytest.mark.parametrize("share", [[1], [True, 1], ["1", True], [-1, True], None])
def test_limit_share_with_fields_of_wrong_types_is_rejected(share: object) -> None:
    with pytest.raises(ValueError, match="share of a limit"):
        Allowance.from_json(share)


def test_lowered_limit_counts_records_that_passed_before(tmp_path: Path) -> None:
    query = WholeQuery(tmp_path, topology(6), most=50)
    with Emitter(IN, query.connection) as emitter:
        emitter.emit_many(Record("k", 1, place) for place in range(20))
    query.start()
    query.run()
    for at_most, expected in ((3, 6), (8, 8)):
        query.upgrade(topology(at_most))
        query.run()
        assert len(query.published("out")) == expected


def test_batch_cut_after_refusal_divides_limit_among_tasks_again(tmp_path: Path) -> None:
    query = WholeQuery(tmp_path, topology(4), partitions=2)
    with Emitter(IN, query.connection) as emitter:
        emitter.emit_many(Record(f"k{n}", 1, n) for n in range(20))
    query.start()
    plan = query.driver.next_plan()
    assert plan is not None
    plan = plan.granting({"lower": {0: Allowance(4, last=True)}}, [(0, 0)])
    refused = Refusal(((0, 0),), {TopicPartition("in", 0): (10, 1 << 40)})
    assert query.driver.planner.cut(plan, [refused]).limits == {}
