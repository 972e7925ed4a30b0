"""Detection of tasks that run on another worker than before."""

from __future__ import annotations

from kstreams.batch.messages.task_numbers import TaskNumbers
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.batch.task_moves import TaskMove, TaskPlaces
from kstreams.ids import TaskId


def _status(partition: int, worker: str, *, restored: bool = False) -> TaskStatus:
    numbers = TaskNumbers(worker=worker, restored=restored)
    return TaskStatus(TaskId("words", partition), "", numbers=numbers)


def test_task_move_is_reported_for_first_batch_and_for_each_change_of_worker() -> None:
    places = TaskPlaces()
    zero, one = TaskId("words", 0), TaskId("words", 1)
    first = places.moved([_status(0, "a/1"), _status(1, "a/2")])
    assert first == (TaskMove(zero, None, "a/1"), TaskMove(one, None, "a/2"))
    assert places.moved([_status(0, "a/1")]) == ()
    assert places.moved([_status(1, "b/7", restored=True)]) == (TaskMove(one, "a/2", "b/7", True),)
    assert places.moved([_status(0, "a/1"), _status(1, "b/7")]) == ()
    assert places.moved([_status(0, "")]) == ()  # an unknown worker is not a move
