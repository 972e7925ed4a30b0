"""Committed batches of drawn topologies give the same bytes when repeated."""

from __future__ import annotations

import pytest
from hypothesis import given, note, settings

from tests.differential.replays import audited
from tests.support.generated.case import Case
from tests.support.generated.join_topologies import join_cases
from tests.support.generated.topologies import cases


@pytest.mark.long
@given(case=cases() | join_cases(most_steps=3))
@settings(max_examples=12)
def test_repeated_batches_write_equal_bytes(case: Case) -> None:
    note(case.describe())
    assert [each for each in audited(case) if each.differs or each.not_run] == []
