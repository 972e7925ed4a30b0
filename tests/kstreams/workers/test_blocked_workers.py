"""A batch that waits for a worker, while code of another query runs there."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kstreams.workers import pool
from kstreams.workers.messages import CancelRun, ReportCurrent
from tests.kstreams.workers.fake_workers import PoolWithFakes, Running, answer, names


class BlockedWorker:
    """Two workers: one of them runs code of another query, the other one has finished its part."""

    def __init__(self, fakes: PoolWithFakes, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pool, "_BLOCKED_S", 0.1)
        self.blocked, self.other = fakes.connect(0), fakes.connect(1)
        for worker in (self.blocked, self.other):
            worker.number()
        self.blocking = Running(fakes.pool, {0: [b"a"]})
        self.blocking_run = self.blocked.runs().run
        self.waiting = Running(fakes.pool, {0: [b"b"], 1: [b"c"]})
        self.waiting_run = self.blocked.runs().run
        assert self.other.runs().run == self.waiting_run

    def finish_other(self) -> None:
        self.other.report("done", [answer("unused")], run=self.waiting_run)

    def report(self, current: int, seconds: float) -> None:
        order = self.blocked.order()
        while order == ReportCurrent(self.blocking_run):
            order = self.blocked.order()
        assert order == ReportCurrent(self.waiting_run)
        self.blocked.report("current", run=self.waiting_run, current=current, seconds=seconds)


def test_batch_runs_again_without_worker_that_code_of_another_query_blocks(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fakes = make(2)
    case = BlockedWorker(fakes, monkeypatch)
    case.finish_other()
    case.report(case.blocking_run, 6.0)
    assert CancelRun(case.waiting_run, interrupt=False) in iter(case.blocked.order, None)
    assert CancelRun(case.waiting_run, interrupt=True) in iter(case.other.order, None)
    again = case.other.runs()
    assert (sorted(again.calls), again.attempt) == ([b"b", b"c"], 2)
    case.other.report("done", [answer("used")], run=again.run)
    assert names(case.waiting.end()) == {"used"}
    case.blocked.report("done", run=case.blocking_run)
    case.blocked.report("canceled", run=case.waiting_run)
    assert case.blocking.end() == []
    while len(fakes.pool.members.available()) < 2:
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("of_blocking_run", "seconds"), [(False, 60.0), (True, 0.0)], ids=["own code", "short time"]
)
def test_batch_waits_for_worker_that_no_other_query_blocks(
    make: Any, monkeypatch: pytest.MonkeyPatch, of_blocking_run: bool, seconds: float
) -> None:
    case = BlockedWorker(make(2), monkeypatch)
    case.finish_other()
    for _ in range(2):
        case.report(case.blocking_run if of_blocking_run else case.waiting_run, seconds)
    for run in (case.blocking_run, case.waiting_run):
        case.blocked.report("done", [answer("used")], run=run)
    assert names(case.waiting.end()) == {"unused", "used"}
    assert names(case.blocking.end()) == {"used"}


def test_blocked_worker_gets_no_status_request_while_no_worker_is_idle(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = BlockedWorker(make(2), monkeypatch)
    time.sleep(0.5)
    for worker in (case.blocked, case.other):
        while worker.has_order():  # the blocking run may begin long before the waiting run
            assert worker.order() == ReportCurrent(case.blocking_run)
    for run in (case.blocking_run, case.waiting_run):
        case.blocked.report("done", run=run)
    case.finish_other()
    assert names(case.waiting.end()) == {"unused"}
    assert case.blocking.end() == []
