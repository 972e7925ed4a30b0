"""The pool: numbers and slots of workers, and batches that end with results, errors or losses."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from kstreams.errors import ExecutionError, ProcessingError
from kstreams.execution.executor import BatchCanceledError, TaskFailedError, WorkerLostError
from kstreams.workers import members
from kstreams.workers.failure import error_json
from kstreams.workers.messages import (
    CancelRun,
    Leave,
    LoadStage,
    Order,
    RunStages,
)
from tests.kstreams.workers.fake_workers import FakeLauncher, FakeWorker, Running, answer, names


def test_pool_sends_tasks_of_each_slot_to_its_worker_and_returns_all_results(make: Any) -> None:
    fakes = make(2)
    workers = [fakes.connect(1), fakes.connect(0)]
    assert [worker.number() for worker in workers] == [1, 0]
    running = Running(fakes.pool, {0: [b"a"], 1: [b"b", b"c"]})
    orders = [worker.runs() for worker in workers]
    assert [list(order.calls) for order in orders] == [[b"b", b"c"], [b"a"]]
    assert {order.slots for order in orders} == {(0, 1)}
    assert all(not order.peers for order in orders), "one stage needs no peers"
    for worker, order, name in zip(workers, orders, "xy", strict=True):
        worker.report("done", [answer(name)], run=order.run)
    assert names(running.end()) == {"x", "y"}


def test_settings_of_a_stage_are_sent_once_to_each_worker(make: Any) -> None:
    fakes = make(1)
    worker = fakes.connect(0)
    worker.number()
    for expected in ([LoadStage, RunStages], [RunStages]):
        running = Running(fakes.pool, {0: [b"a"]}, width=1)
        orders = [worker.order() for _ in expected]
        assert [type(order) for order in orders] == expected
        worker.report("done", run=orders[-1].run)
        assert running.end() == []


def test_worker_without_tasks_in_batch_of_one_stage_gets_no_message(make: Any) -> None:
    fakes = make(2)
    first, second = fakes.connect(0), fakes.connect(1)
    assert (first.number(), second.number()) == (0, 1)
    running = Running(fakes.pool, {1: [b"b"]})
    second.report("done", run=second.runs().run)
    assert running.end() == []
    fakes.pool.members.release()
    assert first.order() == Leave()


def test_all_workers_take_part_in_a_batch_of_two_stages(make: Any) -> None:
    fakes = make(2)
    workers = [fakes.connect(0), fakes.connect(1)]
    for worker in workers:
        worker.number()
    running = Running(fakes.pool, {0: [b"a"]}, stages=2)
    for worker in workers:
        order = worker.runs()
        assert order.peers == {0: "at 0", 1: "at 1"}
        worker.report("done", run=order.run)
    assert running.end() == []


def test_one_worker_has_all_slots_if_no_other_connects(make: Any) -> None:
    fakes = make(3)
    worker = fakes.connect(2)
    assert worker.number() == 2
    running = Running(fakes.pool, {0: [b"a"], 1: [b"b"], 2: [b"c"]}, width=3)
    order = worker.runs()
    assert order.slots == (2, 2, 2)
    assert sorted(order.calls) == [b"a", b"b", b"c"]
    worker.report("done", run=order.run)
    assert running.end() == []
    assert fakes.launcher.launched > 1, "it asks for the missing ones"


def test_batch_does_not_wait_again_for_a_worker_that_has_not_connected(make: Any) -> None:
    fakes = make(2)
    worker = fakes.connect(0)
    worker.number()
    took = []
    for _ in range(2):
        began = time.monotonic()
        running = Running(fakes.pool, {0: [b"a"]})
        worker.report("done", run=worker.runs().run)
        assert running.end() == []
        took.append(time.monotonic() - began)
    assert took[0] > FakeLauncher.patience_s * 0.9
    assert took[1] < FakeLauncher.patience_s * 0.9
    assert fakes.launcher.launched > 2


def test_grown_pool_accepts_more_workers(make: Any) -> None:
    fakes = make(1)
    fakes.connect(0).number()
    fakes.pool.members.grow(2)
    assert fakes.launcher.count == 2
    assert fakes.connect(1).number() == 1
    fakes.pool.members.grow(1)
    assert fakes.pool.members.size == 2


def test_worker_process_that_connects_again_gets_its_earlier_number(make: Any) -> None:
    fakes = make(2)
    first = fakes.connect(0, "a process")
    assert (first.number(), fakes.connect(0, "another").number()) == (0, 1)
    for worker in fakes.connected:
        worker.close()
    while not fakes.pool.members.is_empty:
        time.sleep(0.01)
    assert fakes.connect(0, "another").number() == 1
    assert fakes.connect(1, "a process").number() == 0


def test_full_pool_sends_leave_to_a_further_worker(make: Any) -> None:
    fakes = make(1)
    fakes.connect(0).number()
    assert fakes.connect(0, "more").order() == Leave()


def test_failed_task_fails_the_batch_and_cancels_it_on_other_workers(make: Any) -> None:
    fakes = make(2)
    first, second = fakes.connect(0), fakes.connect(1)
    for worker in (first, second):
        worker.number()
    running = Running(fakes.pool, {0: [b"a"], 1: [b"b"]})
    run = first.runs().run
    second.runs()
    error = ProcessingError("it failed").at(node="n")
    first.report("failed", run=run, error=error_json(error))
    failed = running.end()
    assert isinstance(failed, TaskFailedError)
    found = failed.error
    assert isinstance(found, ProcessingError)
    assert (found.message, found.where.node) == ("it failed", "n")
    assert second.order() == CancelRun(run, interrupt=True)


@pytest.mark.parametrize("stage", [0, 1])
def test_lost_worker_fails_the_batch_with_its_slots_and_stage(make: Any, stage: int) -> None:
    fakes = make(2)
    first, second = fakes.connect(0), fakes.connect(1)
    for worker in (first, second):
        worker.number()
    running = Running(fakes.pool, {0: [b"a"], 1: [b"b"]}, stages=2, width=4)
    run = second.runs().run
    if stage:
        second.report("stage", run=run, stage=stage)
        time.sleep(0.1)
    second.close()
    found = running.end()
    assert isinstance(found, WorkerLostError)
    assert (found.stage, found.slots) == (stage, (1, 3))
    first.runs()
    assert first.order() == CancelRun(run, interrupt=True)


def test_lost_worker_that_reported_its_task_fails_the_batch_with_the_task(make: Any) -> None:
    fakes = make(1)
    worker = fakes.connect(0)
    worker.number()
    running = Running(fakes.pool, {0: [b"a"], 1: [b"b"]}, stages=2)
    run = worker.runs().run
    worker.report("task", run=run, stage=0, task=3)
    worker.report("stage", run=run, stage=1)
    worker.report("task", run=run, stage=1, task=5)
    worker.close()
    found = running.end()
    assert isinstance(found, WorkerLostError)
    assert (found.stage, found.task) == (1, 5)


def test_worker_that_a_peer_cannot_reach_counts_as_lost(make: Any) -> None:
    fakes = make(2)
    first, second = fakes.connect(0), fakes.connect(1)
    for worker in (first, second):
        worker.number()
    running = Running(fakes.pool, {0: [b"a"], 1: [b"b"]}, stages=2)
    first.report("lost", run=first.runs().run, worker=1)
    found = running.end()
    assert isinstance(found, WorkerLostError)
    assert found.slots == (1,)


def test_cancel_interrupts_the_batch_of_its_owner_only(make: Any) -> None:
    fakes = make(1)
    worker = fakes.connect(0)
    worker.number()
    one = Running(fakes.pool, {0: [b"a"]}, width=1)
    first = worker.runs().run
    other = Running(fakes.pool, {0: [b"b"]}, width=1)
    second = worker.runs().run
    fakes.pool.cancel(one)
    assert isinstance(one.end(), BatchCanceledError)
    assert worker.order() == CancelRun(first, interrupt=True)
    worker.report("done", run=first)  # late: nobody waits for it
    worker.report("done", run=second)
    assert other.end() == []


def test_released_workers_finish_their_runs_and_the_next_batch_waits_for_new_ones(
    make: Any,
) -> None:
    fakes = make(1)
    old = fakes.connect(0)
    old.number()
    running = Running(fakes.pool, {0: [b"a"]}, width=1)
    run = old.runs().run
    fakes.pool.members.release()
    assert old.order() == Leave()
    following = Running(fakes.pool, {0: [b"b"]}, width=1)
    old.report("done", [answer("old")], run=run)
    assert names(running.end()) == {"old"}
    old.close()
    new = fakes.connect(0)
    new.number()
    new.report("done", [answer("new")], run=new.runs().run)
    assert names(following.end()) == {"new"}


def test_worker_started_before_a_release_ends_when_it_connects(make: Any) -> None:
    fakes = make(1)
    endpoint = fakes.pool.members.endpoint
    fakes.pool.members.release()
    assert FakeWorker(endpoint, 0).order() == Leave()
    assert fakes.connect(0).number() == 0


def test_unreadable_message_closes_the_connection(
    make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    fakes = make(1)
    worker = fakes.connect(0)
    worker.number()
    running = Running(fakes.pool, {0: [b"a"]}, width=1)
    worker.runs()
    worker.channel.send(b"\x00\x00\x00\x05nojso")
    assert isinstance(running.end(), WorkerLostError)
    assert "unreadable message" in caplog.text


def test_failure_of_the_launcher_is_raised(make: Any) -> None:
    fakes = make(1)
    fakes.launcher.failure = ExecutionError("no workers here")
    assert Running(fakes.pool, {0: [b"a"]}, width=1).end() is fakes.launcher.failure


def test_pool_without_workers_gives_up_after_its_start_time(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "_START_S", 0.3)
    found = Running(make(1).pool, {0: [b"a"]}, width=1).end()
    assert isinstance(found, ExecutionError)
    assert "no worker process has connected" in found.message


def test_close_cancels_batches_and_ends_workers(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "_END_S", 0.3)
    fakes = make(1)
    worker = fakes.connect(0)
    worker.number()
    running = Running(fakes.pool, {0: [b"a"]}, width=1)
    run = worker.runs().run
    fakes.pool.close()
    assert isinstance(running.end(), BatchCanceledError)
    assert worker.order() == CancelRun(run, interrupt=True)
    assert fakes.launcher.stopped
    with closing(worker):
        assert Leave() in list(_left(worker))


def _left(worker: FakeWorker) -> Iterator[Order]:
    try:
        while True:
            yield worker.order()
    except (EOFError, OSError):
        return


def test_failed_pool_raises_its_error_in_current_and_later_runs(make: Any) -> None:
    fakes = make(1)
    worker = fakes.connect(0)
    worker.number()
    running = Running(fakes.pool, {0: [b"a"]}, width=1)
    run = worker.runs().run
    error = ExecutionError("the JVM has ended")
    fakes.pool.fail(error)
    assert running.end() is error
    assert worker.order() == CancelRun(run, interrupt=True)
    assert Running(fakes.pool, {0: [b"a"]}, width=1).end() is error
