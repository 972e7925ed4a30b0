"""The garbage collector is paused during a batch, and restored after it."""

from __future__ import annotations

import gc
from contextlib import ExitStack

import pytest

from kstreams import Record
from kstreams.errors import ProcessingError
from kstreams.task.gc_pause import gc_pauses
from tests.support.apps.one_task import Calls, OneTask, calls, one_node, queue_of


def test_garbage_collector_thresholds_are_restored_after_batch() -> None:
    before = gc.get_threshold()
    seen: list[int] = []
    OneTask(one_node(calls(lambda *_: seen.append(gc.get_threshold()[0])))).run(
        queue_of([("a", 1, 1)])
    )

    class Fails(Calls):
        def process(self, record: Record[str, int]) -> None:
            raise ArithmeticError

    with pytest.raises(ProcessingError):
        OneTask(one_node(Fails)).run(queue_of([("a", 1, 1)]))
    assert (seen, gc.get_threshold()) == ([100_000], before)


def test_garbage_collector_thresholds_are_restored_if_pauses_of_two_threads_overlap() -> None:
    before = gc.get_threshold()
    first, second = ExitStack(), ExitStack()
    first.enter_context(gc_pauses())
    second.enter_context(gc_pauses())
    first.close()
    assert gc.get_threshold()[0] == 100_000
    second.close()
    assert gc.get_threshold() == before


def test_disabled_garbage_collector_stays_disabled_during_pause() -> None:
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with gc_pauses():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)
