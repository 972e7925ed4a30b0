"""Cleanup of state objects removes unreferenced objects, and nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kstreams.errors import FencedError
from kstreams.spark.frames.cleaning import Cleaning
from kstreams.spark.frames.owner import Ownership, begin_state
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.pointer import ObjectRef, Pointer
from kstreams_testing.resident_objects import ResidentObjects

TASK = TaskKey("app.query", "words", 0)
SECOND = 1_000


def delta(log: ResidentObjects, version: int, attempt: str) -> ObjectRef:
    name = f"{TASK.prefix}{version:020d}-{attempt}.delta"
    log.put_if_absent(name, b"")
    return ObjectRef(name, "0" * 16, 0)


def run(log: ResidentObjects, cleaning: Cleaning, batches: int, *, batch_ms: int = SECOND) -> int:
    """Run batches that refer to their last three deltas, each after a failed attempt.

    Return the maximum number of objects.
    """
    pointer, last, most = Pointer.empty(), 0, 0
    for batch in range(batches):
        delta(log, batch + 1, "dead")
        new = pointer.with_delta(delta(log, batch + 1, "won"), b"\0" * 32, ())
        new = Pointer(new.version, new.version_id, deltas=new.deltas[-3:])
        if cleaning.is_due(batch, last):
            pointers = [pointer, new]
            cleaning.clean(log, TASK, pointers, batch=batch, wall_ms=batch * batch_ms)
            last = batch
        pointer = new
        assert {ref.name for ref in pointer.objects()} <= set(log.list(TASK.prefix))
        most = max(most, len(list(log.list(TASK.prefix))))
    return most


def test_number_of_objects_does_not_grow_with_batches() -> None:
    cleaning = Cleaning(retained_batches=10, min_age=timedelta(seconds=10), every=5)
    few, many = (run(ResidentObjects(), cleaning, count) for count in (60, 300))
    assert few == many < 2 * (10 + 4 * 5)


def test_objects_of_retained_batches_are_kept() -> None:
    log = ResidentObjects()
    run(log, Cleaning(retained_batches=30, min_age=timedelta(0), every=5), 100)
    versions = {int(name[len(TASK.prefix) :][:20]) for name in log.list(TASK.prefix)}
    assert versions >= set(range(70, 101))


def test_objects_younger_than_minimum_age_are_kept() -> None:
    log = ResidentObjects()
    most = run(log, Cleaning(retained_batches=2, min_age=timedelta(hours=1), every=5), 200)
    assert most == 400


def test_number_of_cleanup_notes_is_bounded() -> None:
    log = ResidentObjects()
    run(log, Cleaning(retained_batches=10, min_age=timedelta(seconds=10), every=5), 300)
    assert len(list(log.list("app.query/garbage/"))) < 8


def test_object_referenced_after_cleanup_noted_it_is_kept() -> None:
    log = ResidentObjects()
    cleaning = Cleaning(retained_batches=5, min_age=timedelta(0), every=5)
    late = delta(log, 1, "snapshot")
    named = Pointer(1, "0" * 64, deltas=(late,))
    empty = Pointer.empty()
    for batch, pointer in [(5, empty), (10, empty), (15, named), (20, empty), (25, empty)]:
        cleaning.clean(log, TASK, [pointer], batch=batch, wall_ms=batch)
    assert late.name in set(log.list(TASK.prefix))


def test_latest_start_owns_state_and_fences_earlier_one() -> None:
    log = ResidentObjects()
    first, second = Ownership(), Ownership()
    assert first.check(log, "app.query", "run-a", 7) == 7
    assert first.check(log, "app.query", "run-a", 9) == 7
    second.check(log, "app.query", "run-b", 9)
    with pytest.raises(FencedError, match="another query has taken over"):
        first.check(log, "app.query", "run-a", 10)
    second.check(log, "app.query", "run-b", 10)


def test_workers_of_same_start_write_one_owner_object() -> None:
    log = ResidentObjects()
    for worker in (Ownership(), Ownership()):
        worker.check(log, "app.query", "run-a", 0)
    assert len(list(log.list("app.query/owners/"))) == 1


def test_number_of_owner_objects_is_bounded() -> None:
    log = ResidentObjects()
    for number in range(50):
        Ownership().check(log, "app.query", f"run-{number}", number)
    assert len(list(log.list("app.query/owners/"))) <= 21


def test_state_begun_by_one_query_is_rejected_for_another_query() -> None:
    log = ResidentObjects()
    begin_state(log, TASK, 7)
    begin_state(log, TASK, 7)  # its first batch is retried
    with pytest.raises(FencedError, match="belongs to another query on the same DataFrame"):
        begin_state(log, TASK, 8)
