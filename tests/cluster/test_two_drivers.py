"""Two drivers at once, one of them paused in each step of a batch: one sequence of commits.

Nothing is locked. A new driver takes over from the checkpoint in the bucket. When the older driver
continues, its next object exists already, so that it fails before any of its results count.
"""

from __future__ import annotations

import time
from itertools import groupby, pairwise

import pytest

from tests.cluster.clustered_app import ClusteredApp, Driver

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.cluster,
    pytest.mark.timeout(1800),
]

STEPS = [(moment, kind) for kind in ("plans/", "commits/") for moment in ("before", "after")]
HALF = {"spark.cores.max": "1"}
"""Cores for each driver, so that two can run at once."""


def test_older_driver_paused_in_any_step_of_a_batch_is_fenced_when_it_resumes(
    app: ClusteredApp,
) -> None:
    fenced = []
    for moment, kind in STEPS:
        pause = {"moment": moment, "kind": kind, "number": 5}
        older = app.start(config=HALF, options={"pause": pause})
        pause_in_a_batch(app, older)
        app.start(config=HALF)
        app.wait_for_all()
        older.resume()
        app.emit(800)
        older.end()
        fenced.append(older)
        app.wait_for_all()
        assert_one_line(app)
        app.stop()
    app.assert_exact()
    for driver in fenced:
        assert "FencedError" in app.cluster.log(driver.machine.name).read_text()
        assert driver.process.returncode != 0


def pause_in_a_batch(app: ClusteredApp, driver: Driver) -> None:
    """Append lines until the driver has stopped itself, then stop its JVM."""
    app.emit(200)
    app.wait_for_all()
    while not driver.paused:
        app.emit(200)
        time.sleep(0.5)
    driver.pause()


def assert_one_line(app: ClusteredApp) -> None:
    """Check that each commit follows the one before it, and that no driver returns."""
    commits = app.commits()
    assert [each.after for each in commits[1:]] == [each.id for each in commits[:-1]]
    assert all(later.batch == earlier.batch + 1 for earlier, later in pairwise(commits))
    runs = [run for run, _ in groupby(each.run for each in commits)]
    assert len(runs) == len(set(runs))
