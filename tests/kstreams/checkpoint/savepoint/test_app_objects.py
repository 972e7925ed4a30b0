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
from tests.kstreams.checkpoint.start.test_upgrade import AppCheckpoint, B, filled, kv, topology

A: Topic[str, int] = Topic("a", B.key, B.value)


def names(app: AppCheckpoint) -> set[str]:
    return set(app.objects.list(""))


def test_cleanup_without_upgrade_removes_nothing(tmp_path: Path) -> None:
    app = filled(tmp_path, kv())
    before = names(app)
    assert remove_leftovers(app.checkpoint, app.objects) == 0
    assert names(app) == before


def test_cleanup_removes_state_of_removed_group(tmp_path: Path) -> None:
    app = filled(tmp_path, kv())
    app.upgrade(topology(topics=(B,)), reset={"s"})
    state = {name for name in names(app) if name.endswith((".delta", ".chunk"))}
    assert state
    assert remove_leftovers(app.checkpoint, app.objects) == len(state) + 1  # and the commit
    assert not names(app) & state
    assert list(app.checkpoint.commits("a", app.objects).batches()) == []


def test_cleanup_keeps_objects_of_store_moved_to_another_group(tmp_path: Path) -> None:
    app = filled(tmp_path, kv())
    task = app.last().pointers()[TaskId("a", 0)]
    app.upgrade(topology(kv(), topics=(B,)))
    moved = app.last("b").pointers()[TaskId("b", 0)]
    assert moved.objects() == task.objects()
    remove_leftovers(app.checkpoint, app.objects)
    assert {ref.name for ref in moved.objects()} <= names(app)
    later = app.last("b")
    newer = {t: p.with_snapshot(()).to_json() for t, p in later.pointers().items()}
    commits = app.checkpoint.commits("b", app.objects)
    commits.append(Commit(0, "run", 9, newer))
    commits.forget_before(0)
    remove_leftovers(app.checkpoint, app.objects)
    assert not {ref.name for p in later.pointers().values() for ref in p.objects()} & names(app)


def test_cleanup_of_original_group_keeps_objects_of_moved_store(tmp_path: Path) -> None:
    app = filled(tmp_path, kv())
    app.upgrade(topology(kv(), topics=(B, A)))
    moved = {ref.name for p in app.last("b").pointers().values() for ref in p.objects()}
    elsewhere = named_elsewhere(app.checkpoint, app.objects, "a")
    assert moved == elsewhere
    # Group a continues, and after a snapshot no longer refers to its first delta.
    task = app.checkpoint.task_key("a", TaskId("a", 0))
    later = [Pointer(9, "1" * 64), Pointer(10, "2" * 64)]
    clean_up = partial(
        collect_garbage, app.objects, {task: later}, clock=FakeClock(), min_age=timedelta(hours=1)
    )
    clean_up(pinned=elsewhere)
    assert moved <= names(app)
    clean_up()
    assert not moved <= names(app)
    assert named_elsewhere(app.checkpoint, app.objects, "b") == set()


def test_cleanup_keeps_objects_of_savepoints_until_deleted(tmp_path: Path) -> None:
    app = filled(tmp_path, kv())
    savepoints = Savepoints(app.checkpoint, app.objects)
    savepoints.create("before", FakeClock())
    named = {ref.name for p in app.last().pointers().values() for ref in p.objects()}
    app.upgrade(topology(topics=(B,)), reset={"s"})
    remove_leftovers(app.checkpoint, app.objects)
    assert named <= names(app)
    Savepoints(app.checkpoint, app.objects).delete("before")
    remove_leftovers(app.checkpoint, app.objects)
    assert not named & names(app)


def test_cleanup_keeps_objects_of_other_apps_in_shared_log(tmp_path: Path) -> None:
    app = filled(tmp_path, kv())
    strange = [
        "other.epoch.a/00/a/0/1-x.delta",
        f"app.{app.checkpoint.checkpoint_id}0.a/00/a/0/1-x.delta",
        f"commits/app.{app.checkpoint.checkpoint_id}0.a/1.json",
        f"{app.checkpoint.checkpoint_id}/x",
    ]
    for name in strange:
        app.objects.put_if_absent(name, b"theirs")
    Savepoints(app.checkpoint, app.objects).create("mine", FakeClock())
    own = set(epoch_objects(app.objects, "app", app.checkpoint.checkpoint_id))
    assert own == names(app) - set(strange)
    app.upgrade(topology(topics=(B,)), reset={"s"})
    remove_leftovers(app.checkpoint, app.objects)
    assert set(strange) <= names(app)


def test_cleanup_keeps_objects_of_another_app_whose_name_begins_with_app_and_checkpoint_id(
    tmp_path: Path,
) -> None:
    app = filled(tmp_path, kv())
    theirs = [
        f"app.{app.checkpoint.checkpoint_id}.0123456789ab.a/00/a/0/1-x.delta",
        f"commits/app.{app.checkpoint.checkpoint_id}.0123456789ab.a/1.json",
        f"savepoints/app.{app.checkpoint.checkpoint_id}.0123456789ab/x.json",
    ]
    for name in theirs:
        app.objects.put_if_absent(name, b"theirs")
    own = set(epoch_objects(app.objects, "app", app.checkpoint.checkpoint_id))
    assert own == names(app) - set(theirs)
    app.upgrade(topology(topics=(B,)), reset={"s"})
    remove_leftovers(app.checkpoint, app.objects)
    assert set(theirs) <= names(app)
