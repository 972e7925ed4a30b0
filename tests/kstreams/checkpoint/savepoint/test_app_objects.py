"""What upgrades leave behind is removed; what something still names is not."""

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


def test_nothing_is_left_over_without_an_upgrade(tmp_path: Path) -> None:
    epoch = filled(tmp_path, kv())
    before = names(epoch)
    assert remove_leftovers(epoch.checkpoint, epoch.objects) == 0
    assert names(epoch) == before


def test_the_state_of_a_removed_group_goes(tmp_path: Path) -> None:
    epoch = filled(tmp_path, kv())
    epoch.upgrade(topology(topics=(B,)), reset={"s"})
    state = {name for name in names(epoch) if name.endswith((".delta", ".chunk"))}
    assert state
    assert remove_leftovers(epoch.checkpoint, epoch.objects) == len(state) + 1  # and the commit
    assert not names(epoch) & state
    assert list(epoch.checkpoint.commits("a", epoch.objects).batches()) == []


def test_a_store_that_moved_to_another_group_keeps_its_objects(tmp_path: Path) -> None:
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


def test_clean_up_of_the_group_it_came_from_leaves_them_alone(tmp_path: Path) -> None:
    epoch = filled(tmp_path, kv())
    epoch.upgrade(topology(kv(), topics=(B, A)))
    moved = {ref.name for p in epoch.last("b").pointers().values() for ref in p.objects()}
    elsewhere = named_elsewhere(epoch.checkpoint, epoch.objects, "a")
    assert moved == elsewhere
    # Group a goes on, and by a snapshot names its first delta no more.
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


def test_savepoints_keep_what_they_name(tmp_path: Path) -> None:
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


def test_others_of_a_shared_log_are_left_alone(tmp_path: Path) -> None:
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


def test_what_an_app_named_like_a_life_has_is_left_alone(tmp_path: Path) -> None:
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
