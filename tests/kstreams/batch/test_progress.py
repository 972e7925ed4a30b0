"""The phases of a query add up to the elapsed time, also if batches are planned ahead."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kstreams.batch import progress as progressing
from kstreams.batch.progress import COMMIT, JOB, PUBLISH, WAIT, BatchProgress
from kstreams.clock import FakeClock


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found = [100.0]
    monkeypatch.setattr(progressing, "time", SimpleNamespace(perf_counter=lambda: found[0]))
    return found


def test_phases_of_batch_add_up_to_elapsed_time(now: list[float]) -> None:
    progress = BatchProgress(FakeClock(5))
    now[0] += 2
    progress.planning()
    now[0] += 1
    progress.planned(0)
    for phase, seconds in ((JOB, 4), (JOB, 2), (COMMIT, 0.5), (PUBLISH, 0.25)):
        progress.enter(phase, 0)
        assert progress.doing == (0, phase, 5)
        now[0] += seconds
    found = progress.done(0)
    assert found.seconds == {"wait": 2, "plan": 1, "job": 6, "commit": 0.5, "publish": 0.25}
    assert found.jobs == 2
    assert progress.doing == (0, WAIT, 5)


def test_batch_planned_ahead_has_no_wait_time(now: list[float]) -> None:
    progress = BatchProgress(FakeClock())
    progress.enter(JOB, 0)
    progress.enter(COMMIT, 0)
    now[0] += 0.25
    progress.planning()
    now[0] += 0.75
    progress.planned(1)
    assert progress.done(0).seconds["commit"] == 1
    progress.enter(JOB, 1)
    now[0] += 2
    found = progress.done(1).seconds
    assert (found["wait"], found["plan"], found["job"]) == (0, 0.75, 2)
