"""What upgrades leave behind is removed; what something still names is not."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path

from kstreams import FakeClock, Topic
from kstreams.checkpoint.app_objects import life_objects, named_elsewhere, remove_leftovers
from kstreams.checkpoint.savepoints import Savepoints
from kstreams.state.log.commits import Commit
from kstreams.state.log.garbage import collect_garbage
from kstreams.state.log.pointer import Pointer
from tests.kstreams.checkpoint.test_upgrade import B, Life, filled, kv, topology

A: Topic[str, int] = Topic("a", B.key, B.value)


def names(life: Life) -> set[str]:
    return set(life.objects.list(""))


def test_nothing_is_left_over_without_an_upgrade(tmp_path: Path) -> None:
    life = filled(tmp_path, kv())
    before = names(life)
    assert remove_leftovers(life.checkpoint, life.objects) == 0
    assert names(life) == before


def test_the_state_of_a_removed_group_goes(tmp_path: Path) -> None:
    life = filled(tmp_path, kv())
    life.upgrade(topology(topics=(B,)), reset={"s"})
    state = {name for name in names(life) if name.endswith((".delta", ".chunk"))}
    assert state
    assert remove_leftovers(life.checkpoint, life.objects) == len(state) + 1  # and the commit
    assert not names(life) & state
    assert list(life.checkpoint.commits("a", life.objects).batches()) == []


def test_a_store_that_moved_to_another_group_keeps_its_objects(tmp_path: Path) -> None:
    life = filled(tmp_path, kv())
    task = life.last().pointers()["a/0"]
    life.upgrade(topology(kv(), topics=(B,)))
    moved = life.last("b").pointers()["b/0"]
    assert moved.objects() == task.objects()
    remove_leftovers(life.checkpoint, life.objects)
    assert {ref.name for ref in moved.objects()} <= names(life)
    later = life.last("b")
    newer = {t: p.with_snapshot(()).to_json() for t, p in later.pointers().items()}
    commits = life.checkpoint.commits("b", life.objects)
    commits.append(Commit(0, "run", 9, newer))
    commits.forget_before(0)
    remove_leftovers(life.checkpoint, life.objects)
    assert not {ref.name for p in later.pointers().values() for ref in p.objects()} & names(life)


def test_clean_up_of_the_group_it_came_from_leaves_them_alone(tmp_path: Path) -> None:
    life = filled(tmp_path, kv())
    life.upgrade(topology(kv(), topics=(B, A)))
    moved = {ref.name for p in life.last("b").pointers().values() for ref in p.objects()}
    elsewhere = named_elsewhere(life.checkpoint, life.objects, "a")
    assert moved == elsewhere
    # Group a goes on, and by a snapshot names its first delta no more.
    task = life.checkpoint.task_key("a", "a/0")
    later = [Pointer(9, "1" * 64), Pointer(10, "2" * 64)]
    clean_up = partial(
        collect_garbage, life.objects, {task: later}, clock=FakeClock(), min_age=timedelta(hours=1)
    )
    clean_up(pinned=elsewhere)
    assert moved <= names(life)
    clean_up()
    assert not moved <= names(life)
    assert named_elsewhere(life.checkpoint, life.objects, "b") == set()


def test_savepoints_keep_what_they_name(tmp_path: Path) -> None:
    life = filled(tmp_path, kv())
    savepoints = Savepoints(life.checkpoint, life.objects)
    savepoints.create("before", FakeClock())
    named = {ref.name for p in life.last().pointers().values() for ref in p.objects()}
    life.upgrade(topology(topics=(B,)), reset={"s"})
    remove_leftovers(life.checkpoint, life.objects)
    assert named <= names(life)
    Savepoints(life.checkpoint, life.objects).delete("before")
    remove_leftovers(life.checkpoint, life.objects)
    assert not named & names(life)


def test_others_of_a_shared_log_are_left_alone(tmp_path: Path) -> None:
    life = filled(tmp_path, kv())
    strange = [
        "other.life.a/00/a/0/1-x.delta",
        f"app.{life.checkpoint.incarnation}0.a/00/a/0/1-x.delta",
        f"commits/app.{life.checkpoint.incarnation}0.a/1.json",
        f"{life.checkpoint.incarnation}/x",
    ]
    for name in strange:
        life.objects.put_if_absent(name, b"theirs")
    Savepoints(life.checkpoint, life.objects).create("mine", FakeClock())
    own = set(life_objects(life.objects, "app", life.checkpoint.incarnation))
    assert own == names(life) - set(strange)
    life.upgrade(topology(topics=(B,)), reset={"s"})
    remove_leftovers(life.checkpoint, life.objects)
    assert set(strange) <= names(life)


def test_what_an_app_named_like_a_life_has_is_left_alone(tmp_path: Path) -> None:
    life = filled(tmp_path, kv())
    theirs = [
        f"app.{life.checkpoint.incarnation}.0123456789ab.a/00/a/0/1-x.delta",
        f"commits/app.{life.checkpoint.incarnation}.0123456789ab.a/1.json",
        f"savepoints/app.{life.checkpoint.incarnation}.0123456789ab/x.json",
    ]
    for name in theirs:
        life.objects.put_if_absent(name, b"theirs")
    own = set(life_objects(life.objects, "app", life.checkpoint.incarnation))
    assert own == names(life) - set(theirs)
    life.upgrade(topology(topics=(B,)), reset={"s"})
    remove_leftovers(life.checkpoint, life.objects)
    assert set(theirs) <= names(life)
