"""The benchmark of the driver runs and commits batches of simulated tasks."""

from __future__ import annotations

from pathlib import Path

from benchmarks.scale.driver import measure


def test_driver_benchmark_measures_each_step_of_each_batch(tmp_path: Path) -> None:
    found = measure(tmp_path, 5, measured=3)
    assert [len(seconds) for seconds in found.steps.values()] == [3] * 5
    assert len(found.totals()) == 3
    assert min(found.totals()) > 0
