"""Cleanup after upgrades removes leftover objects and keeps referenced ones."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path

from kstreams import Topic
from kstreams.checkpoint.savepoint.app_objects import (
    epoch_objects,
    named_elsewhere,
    remove_leftovers,
)
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.ids import TaskId
from kstreams.state.log.commits import Commit
from kstreams.state.log.garbage import collect_garbage
from kstreams.state.log.pointer import Pointer
from kstreams.testing import FakeClock
from tests.kstreams.checkpoint.start.test_upgrade import B, Life, filled, kv, topology

A: Topic[str, int] = Topic("a", B.key, B.value)


def names(epoch: Life) -> set[str]:
    return set(epoch.objects.list(""))


def test_cleanup_without_upgrade_removes_nothing(tmp_path: Path) -> None:
    epoch = filled(tmp_path, kv())
    before = names(epoch)
    assert remove_leftovers(epoch.checkpoint, epoch.objects) == 0
    assert names(epoch) == before


def test_cleanup_removes_state_of_removed_group(tmp_path: Path) -> None:
    epoch = filled(tmp_path, kv())
    epoch.upgrade(topology(topics=(B,)), reset={"s"})
    state = {name for name in names(epoch) if name.endswith((".delta", ".chunk"))}
    assert state
    assert remove_leftovers(epoch.checkpoint, epoch.objects) == len(state) + 1  # and the commit
    assert not names(epoch) & state
    assert list(epoch.checkpoint.commits("a", epoch.objects).batches()) == []


def test_cleanup_keeps_objects_of_store_moved_to_another_group(tmp_path: Path) -> None:
    epoch = filled(tmp_path, kv())
    task = epoch.last().pointers()[TaskId("a", 0)]
    epoch.upgrade(topology(kv(), topics=(B,)))
    moved = epoch.last("b").pointers()[TaskId("b", 0)]
    assert moved.objects() == task.objects()
    remove_leftovers(epoch.checkpoint, epoch.objects)
    assert {ref.name for ref in moved.objects()} <= names(epoch)
    later = epoch.last("b")
    newer = {t: p.with_snapshot(()).to_json() for t, p in later.pointers().items()}
    commits = epoch.checkpoint.commits("b", epoch.objects)
    commits.append(Commit(0, "run", 9, newer))
    commits.forget_before(0)
    remove_leftovers(epoch.checkpoint, epoch.objects)
    assert not {ref.name for p in later.pointers().values() for ref in p.objects()} & names(epoch)


def test_cleanup_of_original_group_keeps_objects_of_moved_store(tmp_path: Path) -> None:
    epoch = filled(tmp_path, kv())
    epoch.upgrade(topology(kv(), topics=(B, A)))
    moved = {ref.name for p in epoch.last("b").pointers().values() for ref in p.objects()}
    elsewhere = named_elsewhere(epoch.checkpoint, epoch.objects, "a")
    assert moved == elsewhere
    # Group a continues, and after a snapshot no longer refers to its first delta.
    task = epoch.checkpoint.task_key("a", TaskId("a", 0))
    later = [Pointer(9, "1" * 64), Pointer(10, "2" * 64)]
    clean_up = partial(
        collect_garbage, epoch.objects, {task: later}, clock=FakeClock(), min_age=timedelta(hours=1)
    )
    clean_up(pinned=elsewhere)
    assert moved <= names(epoch)
    clean_up()
    assert not moved <= names(epoch)
    assert named_elsewhere(epoch.checkpoint, epoch.objects, "b") == set()


def test_cleanup_keeps_objects_of_savepoints_until_deleted(tmp_path: Path) -> None:
    epoch = filled(tmp_path, kv())
    savepoints = Savepoints(epoch.checkpoint, epoch.objects)
    savepoints.create("before", FakeClock())
    named = {ref.name for p in epoch.last().pointers().values() for ref in p.objects()}
    epoch.upgrade(topology(topics=(B,)), reset={"s"})
    remove_leftovers(epoch.checkpoint, epoch.objects)
    assert named <= names(epoch)
    Savepoints(epoch.checkpoint, epoch.objects).delete("before")
    remove_leftovers(epoch.checkpoint, epoch.objects)
    assert not named & names(epoch)


def test_cleanup_keeps_objects_of_other_apps_in_shared_log(tmp_path: Path) -> None:
    epoch = filled(tmp_path, kv())
    strange = [
        "other.life.a/00/a/0/1-x.delta",
        f"app.{epoch.checkpoint.incarnation}0.a/00/a/0/1-x.delta",
        f"commits/app.{epoch.checkpoint.incarnation}0.a/1.json",
        f"{epoch.checkpoint.incarnation}/x",
    ]
    for name in strange:
        epoch.objects.put_if_absent(name, b"theirs")
    Savepoints(epoch.checkpoint, epoch.objects).create("mine", FakeClock())
    own = set(epoch_objects(epoch.objects, "app", epoch.checkpoint.incarnation))
    assert own == names(epoch) - set(strange)
    epoch.upgrade(topology(topics=(B,)), reset={"s"})
    remove_leftovers(epoch.checkpoint, epoch.objects)
    assert set(strange) <= names(epoch)


def test_cleanup_keeps_objects_of_app_named_like_epoch(tmp_path: Path) -> None:
    epoch = filled(tmp_path, kv())
    theirs = [
        f"app.{epoch.checkpoint.incarnation}.0123456789ab.a/00/a/0/1-x.delta",
        f"commits/app.{epoch.checkpoint.incarnation}.0123456789ab.a/1.json",
        f"savepoints/app.{epoch.checkpoint.incarnation}.0123456789ab/x.json",
    ]
    for name in theirs:
        epoch.objects.put_if_absent(name, b"theirs")
    own = set(epoch_objects(epoch.objects, "app", epoch.checkpoint.incarnation))
    assert own == names(epoch) - set(theirs)
    epoch.upgrade(topology(topics=(B,)), reset={"s"})
    remove_leftovers(epoch.checkpoint, epoch.objects)
    assert set(theirs) <= names(epoch)
