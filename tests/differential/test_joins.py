"""Drawn tables and joins give the same results by columns, by records, and with new processors."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, note, settings

from tests.support.generated.case import Case
from tests.support.generated.driver_run import run_on_driver
from tests.support.generated.join_plan import JoinPlan
from tests.support.generated.join_topologies import join_cases


@pytest.mark.long
@given(case=join_cases())
@settings(max_examples=120)
def test_joins_give_same_result_by_columns_by_records_and_with_recreated_processors(
    case: Case,
) -> None:
    note(case.describe())
    assert isinstance(case.plan, JoinPlan)
    by_records = Case(replace(case.plan, execution="records"), case.batches)
    expected = run_on_driver(case)
    by_call = run_on_driver(by_records)
    # A node that runs by columns does not forward records that its child finds in a store.
    assert replace(by_call, nodes={}) == replace(expected, nodes={})
    assert run_on_driver(case, recreate_processors=True) == expected
