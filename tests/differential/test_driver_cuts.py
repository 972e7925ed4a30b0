"""Results do not depend on how the input is cut into batches, and equal those of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from kstreams import INT64
from kstreams.partitioner import partition_of
from tests.differential.model import run_model
from tests.support.generated.case import Batch, Case, RawRecord, Result
from tests.support.generated.driver_run import run_on_driver
from tests.support.generated.topologies import cases
from tests.support.generated.topology_plan import NodePlan, Plan, SinkPlan, SourcePlan

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

_UNSAID = {"kstreams-error-message", "kstreams-error-node"}
_CUTS = st.lists(st.integers(0, 25), max_size=6)
_OPTIONS: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
    "print_blob": True,
}


def comparable(result: Result) -> tuple[Any, ...]:
    """Return the parts of a result that must be equal."""
    stores = {name: contents for name, contents in result.stores.items() if contents}
    return result.by_task(), stores, result.dropped, result.nodes


def without_letter_texts(result: Result) -> Result:
    """Return a result without the texts of dead letters, which the model does not know."""
    outputs = {
        place: [(*row[:3], tuple(h for h in row[3] if h[0] not in _UNSAID)) for row in rows]
        for place, rows in result.outputs.items()
    }
    return replace(result, outputs=outputs)


@pytest.mark.long
@given(cases(one_source=True), _CUTS, _CUTS, st.booleans())
@settings(max_examples=250, **_OPTIONS)
def test_driver_result_does_not_depend_on_batch_cuts(
    case: Case, cuts: list[int], others: list[int], recreate: bool
) -> None:
    note(case.describe())
    note(f"cut at {cuts} and at {others}, recreate_processors={recreate}")
    whole = run_on_driver(case, cuts)
    again = run_on_driver(case, others, recreate_processors=recreate)
    assert comparable(again) == comparable(whole)


@pytest.mark.long
@given(cases(one_source=True), _CUTS, st.booleans())
@settings(max_examples=250, **_OPTIONS)
def test_driver_result_equals_result_of_model(case: Case, cuts: list[int], recreate: bool) -> None:
    note(case.describe())
    found = run_on_driver(case, cuts, recreate_processors=recreate)
    assert comparable(without_letter_texts(found)) == comparable(run_model(case))


@pytest.mark.long
@given(cases())
@settings(max_examples=120, **_OPTIONS)
def test_driver_result_is_the_same_with_recreated_processors(case: Case) -> None:
    note(case.describe())
    kept, made = (run_on_driver(case, recreate_processors=again) for again in (False, True))
    assert made == kept


def counting(kind: str, records: list[tuple[str, int]], partitions: int) -> Case:
    plan = Plan(
        (SourcePlan("in0", "drop", "drop"),),
        (NodePlan("n0", kind, ("in0",), 1, "s1"), NodePlan("n1", "stamp", ("n0",))),
        (SinkPlan("out0", ("n1",)),),
        "fail",
        {"in0": partitions, "out0": 2},
    )
    raw = [
        RawRecord("in0", partition_of(k.encode(), partitions), k.encode(), INT64.serialize(1), t)
        for k, t in records
    ]
    return Case(plan, (Batch(tuple(raw)),))


@given(
    st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 50)), max_size=40),
    st.integers(1, 3),
    _CUTS,
)
@settings(max_examples=100, **_OPTIONS)
def test_count_by_batch_processor_equals_count_by_record_processor(
    records: list[tuple[str, int]], partitions: int, cuts: list[int]
) -> None:
    by_record, by_table = (counting(kind, records, partitions) for kind in ("count", "batch-count"))
    assert run_on_driver(by_table, cuts) == run_on_driver(by_record, cuts)


def test_describe_of_case_returns_nodes_and_records_as_text() -> None:
    text = counting("count", [("a", 5)], 1).describe()
    assert "NodePlan(name='n0', kind='count'" in text
    assert "RawRecord(topic='in0', partition=0, key=b'a'" in text


@pytest.mark.parametrize("kind", ["count", "batch-count"])
def test_case_written_by_hand_has_expected_result(kind: str) -> None:
    result = run_on_driver(counting(kind, [("a", 5), ("b", 1), ("a", 2)], 1))
    rows = [row for key in sorted(result.outputs) for row in result.outputs[key]]
    assert sorted((k, INT64.deserialize(v or b""), t) for k, v, t, _ in rows) == [
        (b"a", 1, 5), (b"a", 2, 2), (b"b", 1, 1)
    ]  # fmt: skip
    assert result.stores == {"s1": {"a": 2, "b": 1}}
