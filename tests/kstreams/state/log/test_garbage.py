"""Garbage collection removes objects that no version needs, after a minimum age."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kstreams.clock import FakeClock, WatchedClock
from kstreams.state.backend.task_key import TaskKey, garbage_prefix
from kstreams.state.log.garbage import collect_garbage
from kstreams.state.log.pointer import ObjectRef, Pointer
from tests.support.storage.counting_object_store import ObjectDict

_TASK = TaskKey("app", "group", 3)
_DAY = timedelta(days=1)


def _name(version: int, attempt: str, kind: str = "delta", task: TaskKey = _TASK) -> str:
    return f"{task.prefix}{version:020d}-{attempt}.{kind}"


def _pointer(version: int, *names: str) -> Pointer:
    return Pointer(version, "00" * 32, deltas=tuple(ObjectRef(name, "", 1) for name in names))


def _log(*names: str) -> ObjectDict:
    log = ObjectDict()
    for name in names:
        log.put_if_absent(name, b"")
    return log


def _live(log: ObjectDict) -> list[str]:
    return [name for name in log.list("") if not name.startswith(garbage_prefix("app"))]


def test_deltas_before_retained_versions_are_removed_immediately() -> None:
    old, lost, kept = _name(1, "a"), _name(2, "lost"), _name(2, "won")
    log = _log(old, lost, kept)
    keep = {_TASK: [_pointer(2, kept), _pointer(3, kept)]}
    result = collect_garbage(log, keep, clock=FakeClock(), min_age=_DAY)
    assert (result.deleted, result.waiting) == ((old, lost), 0)
    assert _live(log) == [kept]


def test_objects_of_a_batch_that_may_be_running_are_kept() -> None:
    fresh, kept = _name(4, "fresh"), _name(3, "kept")
    log, clock = _log(fresh, kept), FakeClock()
    for _ in range(5):
        collect_garbage(log, {_TASK: [_pointer(3, kept)]}, clock=clock, min_age=_DAY)
        clock.advance(timedelta(days=30))
    assert _live(log) == [kept, fresh]


def test_delta_after_older_retained_pointer_is_kept_for_minimum_age() -> None:
    """A fork of a savepoint at version 1 may write such a child, which looks like an old orphan."""
    child, first, last = _name(2, "child"), _name(1, "a"), _name(50, "b")
    log, clock = _log(child, first, last), FakeClock()
    keep = {_TASK: [_pointer(1, first), _pointer(50, last)]}
    assert collect_garbage(log, keep, clock=clock, min_age=_DAY).waiting == 1
    clock.advance(_DAY / 2)
    assert collect_garbage(log, keep, clock=clock, min_age=_DAY).waiting == 1
    assert child in _live(log)
    clock.advance(_DAY / 2)
    assert collect_garbage(log, keep, clock=clock, min_age=_DAY).deleted == (child,)


def test_unreferenced_object_that_is_referenced_again_is_kept() -> None:
    child, first, last = _name(2, "child"), _name(1, "a"), _name(50, "b")
    log, clock = _log(child, first, last), FakeClock()
    keep = {_TASK: [_pointer(1, first), _pointer(50, last)]}
    collect_garbage(log, keep, clock=clock, min_age=_DAY)
    clock.advance(2 * _DAY)
    keep[_TASK].append(_pointer(2, first, child))
    assert collect_garbage(log, keep, clock=clock, min_age=_DAY).deleted == ()


@pytest.mark.parametrize("kind", ["000000.chunk", "1.run"])
def test_unreferenced_snapshot_chunks_and_merged_deltas_are_kept_for_minimum_age(kind: str) -> None:
    chunk, kept = _name(1, "a", kind), _name(9, "b")
    log, clock = _log(chunk, kept), FakeClock()
    keep = {_TASK: [_pointer(9, kept)]}
    assert collect_garbage(log, keep, clock=clock, min_age=_DAY).deleted == ()
    clock.advance(_DAY)
    assert collect_garbage(log, keep, clock=clock, min_age=_DAY).deleted == (chunk,)


def test_object_of_first_batch_of_task_without_commits_is_kept() -> None:
    fresh = _name(1, "a")
    log, clock = _log(fresh), FakeClock()
    for _ in range(3):
        collect_garbage(log, {_TASK: [Pointer.empty()]}, clock=clock, min_age=_DAY)
        clock.advance(timedelta(days=9))
    assert _live(log) == [fresh]


def test_objects_of_other_tasks_and_apps_are_kept() -> None:
    other = _name(1, "a", task=TaskKey("app", "group", 33))
    theirs = _name(1, "a", task=TaskKey("app2", "group", 3))
    log = _log(other, theirs)
    collect_garbage(log, {_TASK: [_pointer(9)]}, clock=FakeClock(), min_age=timedelta())
    collect_garbage(log, {}, clock=FakeClock(), min_age=timedelta())
    assert _live(log) == sorted([other, theirs])


def test_collection_for_two_apps_in_one_call_is_rejected() -> None:
    keep: dict[TaskKey, list[Pointer]] = {TaskKey(app, "g", 0): [] for app in ("a", "b")}
    with pytest.raises(ValueError, match="several apps"):
        collect_garbage(ObjectDict(), keep, clock=FakeClock(), min_age=_DAY)


def test_number_of_garbage_notes_is_bounded() -> None:
    chunk, kept = "000000.chunk", _name(100, "b")
    log, clock = _log(kept), FakeClock()
    for version in range(50):
        log.put_if_absent(_name(version, "a", chunk), b"")
        collect_garbage(log, {_TASK: [_pointer(100, kept)]}, clock=clock, min_age=_DAY)
        clock.advance(_DAY / 3)
    assert len(list(log.list(garbage_prefix("app")))) <= 3
    assert len(_live(log)) < 12


@pytest.mark.parametrize("name", ["readme", "-unnamed", "x1-unnamed", "1" * 30 + "-unnamed"])
def test_garbage_note_with_invalid_name_is_ignored_and_kept(name: str) -> None:
    log, keep, child = _orphan()
    log.put_if_absent(f"{garbage_prefix('app')}{name}", b'["stray"]')
    clock = FakeClock()
    collect_garbage(log, keep, clock=clock, min_age=_DAY)
    clock.advance(_DAY)
    assert collect_garbage(log, keep, clock=clock, min_age=_DAY).deleted == (child,)
    assert f"{garbage_prefix('app')}{name}" in _notes(log)


_YEARS = timedelta(days=3653)


def _orphan() -> tuple[ObjectDict, dict[TaskKey, list[Pointer]], str]:
    child, first, last = _name(2, "child"), _name(1, "a"), _name(50, "b")
    keep = {_TASK: [_pointer(1, first), _pointer(50, last)]}
    return _log(child, first, last), keep, child


def test_garbage_is_collected_after_clock_was_years_ahead() -> None:
    log, keep, child = _orphan()
    clock = FakeClock()
    clock.jump(_YEARS)
    collect_garbage(log, keep, clock=clock, min_age=_DAY)
    clock.jump(-_YEARS)
    assert collect_garbage(log, keep, clock=clock, min_age=_DAY).waiting == 1
    assert [int(name.rpartition("/")[2].partition("-")[0]) for name in _notes(log)] == [0]
    clock.advance(_DAY)
    assert collect_garbage(log, keep, clock=clock, min_age=_DAY).deleted == (child,)


def test_forward_clock_jump_does_not_count_towards_minimum_age() -> None:
    log, keep, child = _orphan()
    clock = FakeClock()
    watched = WatchedClock(clock)

    def collected() -> tuple[str, ...]:
        watched.now_ms()
        found = collect_garbage(log, keep, clock=watched, min_age=_DAY, set_ms=watched.set_ms)
        return found.deleted

    assert collected() == ()
    clock.jump(_YEARS)
    assert collected() == ()
    clock.advance(_DAY - timedelta(seconds=1))
    assert collected() == ()
    clock.advance(timedelta(seconds=1))
    assert collected() == (child,)


def _notes(log: ObjectDict) -> list[str]:
    return list(log.list(garbage_prefix("app")))
