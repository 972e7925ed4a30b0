"""The garbage collector is paused during a batch, and restored after it."""

from __future__ import annotations

import gc

import pytest

from kstreams import Record
from kstreams.errors import ProcessingError
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
