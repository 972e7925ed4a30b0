"""Errors of dead workers: they name group, partition, offsets and the number of deaths."""

from __future__ import annotations

from kstreams.batch.messages.envelope import Envelope
from kstreams.batch.messages.task_call import TaskCall
from kstreams.checkpoint.planning.plans import Plan, Slice
from kstreams.errors import WorkerDiedError
from kstreams.execution.executor import WorkerLostError
from kstreams.execution.worker_deaths import WorkerDeaths

PLAN = Plan(
    {
        (0, 0): (Slice("words", "w", 0, 5, 7), Slice("words", "w", 0, 7, 9)),
        (0, 1): (Slice("words", "w", 1, 3, 4), Slice("more", "m", 1, 0, 2)),
        (1, 1): (Slice("later", "l", 1, 8, 9),),
    }
)
CALLS = {
    slot: [
        (slot, Envelope(0, slot, TaskCall((), 0)).pack()),
        (slot, Envelope(1, 2, TaskCall((), 0, required=False)).pack()),
    ]
    for slot in (0, 1)
}


class Deaths(WorkerDeaths):
    """The deaths in a batch with two tasks of the first stage in two slots."""

    def __init__(self, *groups: str) -> None:
        super().__init__("q", 4, groups or ("g",), width=2)

    def of(self, stage: int | None, *slots: int) -> WorkerDiedError:
        return self.add(WorkerLostError(stage, slots), PLAN, CALLS)


def test_error_names_query_task_and_offsets_in_process() -> None:
    found = Deaths().of(0, 0)
    assert (found.deaths, found.under_way) == (1, (("w", 0, 5, 9),))
    assert "batch 4 of query 'q', once (group 'g', partition 0)" in found.message
    assert "w/0 from offset 5 to 9" in found.message
    assert (found.where.group, found.where.partition) == ("g", 0)
    assert (found.where.topic, found.where.offset) == ("w", 5)
    assert found.hint
    assert "Spark" not in found.message


def test_deaths_of_one_batch_are_counted() -> None:
    deaths = Deaths()
    assert deaths.of(0, 1).under_way == (("w", 1, 3, 4), ("m", 1, 0, 2))
    assert deaths.of(0, 0).deaths == 2
    assert deaths.of(None, 0).deaths == 3


def test_error_of_worker_that_reported_its_current_task_names_only_that_task() -> None:
    found = Deaths().add(WorkerLostError(0, (0, 1), 1), PLAN, CALLS)
    assert (found.where.partition, found.under_way) == (1, (("w", 1, 3, 4), ("m", 1, 0, 2)))


def test_error_of_worker_with_several_slots_names_all_of_its_tasks() -> None:
    found = Deaths().of(0, 0, 1)
    assert found.where.partition is None
    assert "partitions 0, 1" in found.message
    assert len(found.under_way) == 3


def test_error_after_repartition_names_all_offsets_of_batch() -> None:
    found = Deaths("g", "h").of(1, 1)
    assert (found.where.group, found.where.partition) == ("h", 1)
    assert len(found.under_way) == 4
    unknown = Deaths("g", "h").of(None, 1)
    assert "groups ['g', 'h']" in unknown.message
