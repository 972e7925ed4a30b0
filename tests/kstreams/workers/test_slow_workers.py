"""A batch runs again without workers that are much slower than the others."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kstreams.workers.messages import (
    CancelRun,
    RunStages,
)
from kstreams.workers.slow_workers import Speculation
from tests.kstreams.workers.fake_workers import PoolWithFakes, Running


@pytest.mark.parametrize("stages", [1, 2])
def test_slow_worker_gets_no_run_until_it_has_ended_its_canceled_run(
    tmp_path: Path, stages: int
) -> None:
    fakes = PoolWithFakes(tmp_path, 2, speculation=Speculation(0.5, 2.0, 0.1))
    fast, slow = fakes.connect(0), fakes.connect(1)
    for worker in (fast, slow):
        worker.number()
    calls = {0: [b"a"], 1: [b"b"]}
    running = Running(fakes.pool, calls, stages=stages)
    first, late = fast.runs(), slow.runs()
    assert first.reports_progress
    fast.report("done" if stages == 1 else "sent", run=first.run, stage=0)
    again = fast.order()
    if isinstance(again, CancelRun):
        fast.report("canceled", run=first.run)
        again = fast.order()
    assert isinstance(again, RunStages)
    assert (again.run > first.run, again.attempt) == (True, 2)
    assert (again.slots, sorted(again.calls)) == ((0, 0), [b"a", b"b"])
    fast.report("done", run=again.run, stage=stages - 1)
    assert running.end() == []

    other = Running(fakes.pool, calls, stages=stages)
    order = fast.runs()
    assert order.slots == (0, 0)
    fast.report("done", run=order.run, stage=stages - 1)
    assert other.end() == []

    assert slow.order() == CancelRun(late.run)
    slow.report("canceled", run=late.run)
    time.sleep(0.1)
    last = Running(fakes.pool, calls, stages=stages)
    both = [fast.runs(), slow.runs()]
    assert {number for order in both for number in order.slots} == {0, 1}
    for worker, order in zip((fast, slow), both, strict=True):
        worker.report("done", run=order.run, stage=stages - 1)
    assert last.end() == []
    fakes.close()


def test_equally_slow_workers_are_awaited(tmp_path: Path) -> None:
    fakes = PoolWithFakes(tmp_path, 2, speculation=Speculation(0.5, 2.0, 0.05))
    workers = [fakes.connect(0), fakes.connect(1)]
    for worker in workers:
        worker.number()
    running = Running(fakes.pool, {0: [b"a"], 1: [b"b"]})
    orders = [worker.runs() for worker in workers]
    time.sleep(0.3)
    for worker, order in zip(workers, orders, strict=True):
        worker.report("done", run=order.run, stage=0)
    assert running.end() == []
    fakes.close()
