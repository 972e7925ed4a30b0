"""Committed batches of drawn topologies give the same bytes when repeated."""

from __future__ import annotations

from hypothesis import given, note, settings

from tests.differential.case import Case
from tests.differential.draw_joins import join_cases
from tests.differential.generate import cases
from tests.differential.replays import audited


@given(case=cases() | join_cases(most_steps=3))
@settings(max_examples=12)
def test_repeated_batches_change_the_same_bytes(case: Case) -> None:
    note(case.describe())
    assert [each for each in audited(case) if each.differs or each.not_run] == []
