"""Written plans run with their numbers; a stopping app writes none."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams.checkpoint.planning.plans import Plan
from tests.crash.stopped_app import BATCHES, check_counts, commits_of, plans_of, stopped_app
from tests.support.crash.harness import Harness
from tests.support.crash.marking_app import batch_of, emit


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Harness:
    return stopped_app(tmp_path / "app", monkeypatch)


def test_app_that_stops_before_planning_writes_no_plan(harness: Harness) -> None:
    emit(harness.connection, batch_of(BATCHES), BATCHES)
    harness.query.begin_stop()
    assert not harness.query.run_batch()
    assert len(plans_of(harness)) == BATCHES


def test_batch_of_a_written_plan_runs_although_the_app_is_stopping(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = harness.query
    record = query.driver.record

    def record_and_stop(batch: int, plan: Plan) -> Plan:
        recorded = record(batch, plan)
        query.begin_stop()
        return recorded

    monkeypatch.setattr(query.driver, "record", record_and_stop)
    records = batch_of(BATCHES)
    emit(harness.connection, records, BATCHES)
    harness.input += records
    query.run_batch()
    assert len(commits_of(harness)) == BATCHES + 1
    harness.end_process()
    harness.batch()
    check_counts(harness)


def test_plan_keeps_its_number_although_earlier_numbers_are_missing(harness: Harness) -> None:
    """Earlier releases used Spark's batch numbers, of which one had no plan."""
    harness.emit()
    driver = harness.query.driver
    plan = driver.next_plan()
    assert plan is not None
    driver.record(BATCHES + 1, plan)
    harness.recover(driver=True)
    harness.run_until_committed()
    assert [int(plan.stem) for plan in plans_of(harness)][-1] == BATCHES + 1
    harness.batch()
    assert [int(plan.stem) for plan in plans_of(harness)][-1] == BATCHES + 2
    check_counts(harness)
