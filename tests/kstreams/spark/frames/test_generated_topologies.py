"""Generated topologies give equal results on DataFrames and the test driver, batch by batch."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, Phase, assume, given, note, settings
from hypothesis import strategies as st

from kstreams.frames import Operator
from tests.kstreams.spark.frames.generated_case import Death, as_frames_have_it, run_on_frames
from tests.support.generated.case import Case, Result
from tests.support.generated.driver_run import run_on_driver
from tests.support.generated.join_plan import JoinPlan
from tests.support.generated.join_topologies import join_cases
from tests.support.generated.topologies import cases
from tests.support.generated.topology_plan import NodePlan

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
_EXAMPLES = int(os.environ.get("KSTREAMS_FRAMES_EXAMPLES", "40"))
_OPTIONS: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.generate],  # shrinking is slow
}
_OPERATORS: st.SearchStrategy[Operator] = st.sampled_from(["transform-with-state", "group-state"])
_MOMENTS = ("begun", "task done", "state committed", "computed", "written", "done")
_DEATHS = st.lists(
    st.builds(Death, st.sampled_from(_MOMENTS), st.integers(0, 3), st.booleans()), max_size=4
)


def comparable(result: Result) -> object:
    """Return the comparable part of a result; DataFrames do not report numbers of records."""
    outputs = {
        place: [(*row[:3], tuple(map(_unnumbered, row[3]))) for row in rows]
        for place, rows in result.outputs.items()
    }
    stores = {name: contents for name, contents in result.stores.items() if contents}
    return Result(outputs).by_task(), stores, result.dropped


def _unnumbered(header: tuple[str, bytes | None]) -> tuple[str, bytes | None]:
    name, value = header
    if name == "at" and value is not None:
        return name, value.rpartition(b"/")[0]
    return name, None if name == "kstreams-error-offset" else value


def compare(case: Case, operator: Operator, deaths: list[Death]) -> None:
    placed = as_frames_have_it(case)
    note(f"by {operator}, with {deaths}: {placed.describe()}")
    with tempfile.TemporaryDirectory(prefix="kstreams-drawn-", dir=_MEMORY) as home:
        found = run_on_frames(placed, Path(home), operator, deaths)
    assert comparable(found) == comparable(run_on_driver(placed))


def has_wall_clock_work(case: Case) -> bool:
    return any(isinstance(n, NodePlan) and n.kind == "wall-collect" for n in case.plan.nodes)


@pytest.mark.long
@given(cases(), _OPERATORS, _DEATHS)
@settings(max_examples=_EXAMPLES, **_OPTIONS)
def test_generated_topologies_on_frames_equal_the_test_driver(
    case: Case, operator: Operator, deaths: list[Death]
) -> None:
    assume(not has_wall_clock_work(case))
    compare(case, operator, deaths)


@pytest.mark.long
@given(join_cases(most_steps=4), _OPERATORS, _DEATHS, st.sampled_from(["auto", "records"]))
@settings(max_examples=_EXAMPLES, **_OPTIONS)
def test_generated_joins_on_frames_equal_the_test_driver(
    case: Case, operator: Operator, deaths: list[Death], execution: Literal["auto", "records"]
) -> None:
    plan = case.plan
    assert isinstance(plan, JoinPlan)
    assume(not any(step.kind in ("global", "loop") for step in plan.steps))
    compare(Case(replace(plan, execution=execution), case.batches), operator, deaths)
