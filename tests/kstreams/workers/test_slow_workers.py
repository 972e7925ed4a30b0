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
from tests.kstreams.workers.puppets import Running, Stand


@pytest.mark.parametrize("stages", [1, 2])
def test_batch_runs_again_without_a_slow_worker_until_it_has_ended_its_run(
    tmp_path: Path, stages: int
) -> None:
    stand = Stand(tmp_path, 2, speculation=Speculation(0.5, 2.0, 0.1))
    fast, slow = stand.puppet(0), stand.puppet(1)
    for puppet in (fast, slow):
        puppet.number()
    calls = {0: [b"a"], 1: [b"b"]}
    running = Running(stand.pool, calls, stages=stages)
    first, late = fast.runs(), slow.runs()
    assert first.reports_progress
    fast.tell("done" if stages == 1 else "sent", run=first.run, stage=0)
    again = fast.order()
    if isinstance(again, CancelRun):
        fast.tell("canceled", run=first.run)
        again = fast.order()
    assert isinstance(again, RunStages)
    assert (again.run > first.run, again.attempt) == (True, 2)
    assert (again.slots, sorted(again.calls)) == ((0, 0), [b"a", b"b"])
    fast.tell("done", run=again.run, stage=stages - 1)
    assert running.end() == []

    other = Running(stand.pool, calls, stages=stages)
    order = fast.runs()
    assert order.slots == (0, 0)
    fast.tell("done", run=order.run, stage=stages - 1)
    assert other.end() == []

    assert slow.order() == CancelRun(late.run)
    slow.tell("canceled", run=late.run)
    time.sleep(0.1)
    last = Running(stand.pool, calls, stages=stages)
    both = [fast.runs(), slow.runs()]
    assert {number for order in both for number in order.slots} == {0, 1}
    for puppet, order in zip((fast, slow), both, strict=True):
        puppet.tell("done", run=order.run, stage=stages - 1)
    assert last.end() == []
    stand.close()


def test_equally_slow_workers_are_awaited(tmp_path: Path) -> None:
    stand = Stand(tmp_path, 2, speculation=Speculation(0.5, 2.0, 0.05))
    puppets = [stand.puppet(0), stand.puppet(1)]
    for puppet in puppets:
        puppet.number()
    running = Running(stand.pool, {0: [b"a"], 1: [b"b"]})
    orders = [puppet.runs() for puppet in puppets]
    time.sleep(0.3)
    for puppet, order in zip(puppets, orders, strict=True):
        puppet.tell("done", run=order.run, stage=0)
    assert running.end() == []
    stand.close()
