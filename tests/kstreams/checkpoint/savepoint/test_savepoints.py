"""Savepoints are kept whatever the app does; forks share nothing with their original."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.fork import ForkSource, fork
from kstreams.checkpoint.savepoint.savepoints import Savepoints, pinned_objects
from kstreams.checkpoint.storage.lock import CheckpointLock
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.clock import FakeClock
from kstreams.errors import (
    AppLockedError,
    InvalidNameError,
    NoCheckpointError,
    SavepointError,
    StateCorruptError,
)
from kstreams.ids import TaskId, text_keys
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.commits import SEED, Commit
from kstreams.state.log.directory import Directory
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.garbage import collect_garbage
from kstreams.state.log.pointer import Pointer
from tests.kstreams.checkpoint.start.test_upgrade import AppCheckpoint, filled, kv, topology

CLOCK = FakeClock(99)

FIRST = TaskId("a", 0)


def saved(path: Path, name: str = "before") -> AppCheckpoint:
    app = filled(path, kv())
    Savepoints(app.checkpoint, app.objects).create(name, CLOCK)
    return app


def contents(checkpoint: Checkpoint, pointer: Pointer, task: TaskId = FIRST) -> dict[str, int]:
    spec = kv()
    store = MemoryStore([spec.name])
    log = DurableLog(checkpoint.log.open(), checkpoint.task_key("a", task))
    log.restore(pointer, store)
    return dict(spec.open(Overlay(store)).range())


def test_savepoint_names_last_commit_of_each_query(tmp_path: Path) -> None:
    app = saved(tmp_path)
    savepoints = Savepoints(app.checkpoint, app.objects)
    found = savepoints.load("before")
    assert (found.name, found.wall_ms, found.checkpoint) == ("before", 99, app.checkpoint)
    assert found.commits == {"a": app.last()}
    assert savepoints.names() == ["before"]
    savepoints.delete("before")
    assert savepoints.names() == []


@pytest.mark.parametrize(
    "name", ["", "a@b", ".hidden", "..", "a\nb", "a\0b", "\ud800", "a" * 251, "é" * 50]
)
def test_invalid_savepoint_names_are_rejected(tmp_path: Path, name: str) -> None:
    app = filled(tmp_path, kv())
    savepoints = Savepoints(app.checkpoint, app.objects)
    with pytest.raises(SavepointError, match="is not a valid name") as caught:
        savepoints.create(name, CLOCK)
    assert caught.value.message.isprintable()
    with pytest.raises(SavepointError, match="has no savepoint"):
        savepoints.load(name)
    assert savepoints.names() == []


@pytest.mark.parametrize("name", ["a/../../x", "/etc/x", "a/b", "two words", "Zähler", "a:b"])
def test_files_of_savepoints_with_unusual_names_stay_in_savepoint_folder(
    tmp_path: Path, name: str
) -> None:
    app = filled(tmp_path, kv())
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    savepoints = Savepoints(app.checkpoint, app.objects)
    savepoints.create(name, CLOCK)
    (made,) = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert made.parent.parent.name == "savepoints"
    assert savepoints.names() == [name]
    assert ForkSource.parse(f"{tmp_path}@{name}").savepoint == name
    savepoints.delete(name)
    assert not made.exists()


def test_duplicate_savepoint_name_is_rejected_and_error_of_unknown_name_lists_existing_ones(
    tmp_path: Path,
) -> None:
    app = saved(tmp_path)
    savepoints = Savepoints(app.checkpoint, app.objects)
    with pytest.raises(SavepointError, match="already"):
        savepoints.create("before", CLOCK)
    with pytest.raises(SavepointError, match="there are: 'before'"):
        savepoints.load("after")


def test_savepoint_of_app_without_commit_is_rejected(tmp_path: Path) -> None:
    app = AppCheckpoint(tmp_path, topology(kv()))
    with pytest.raises(SavepointError, match="has committed nothing yet"):
        Savepoints(app.checkpoint, app.objects).create("x", CLOCK)


def test_cleanup_keeps_savepoint(tmp_path: Path) -> None:
    app = saved(tmp_path)
    old = app.last().pointers()[TaskId("a", 0)]
    clock = FakeClock(0)
    task = app.checkpoint.task_key("a", TaskId("a", 0))
    later = Pointer(9, "1" * 64)
    for _ in range(3):
        clock.advance(timedelta(hours=2))
        pinned = pinned_objects(app.checkpoint, app.objects)
        collect_garbage(
            app.objects, {task: [later]}, clock=clock, min_age=timedelta(hours=1), pinned=pinned
        )
    assert contents(app.checkpoint, old) == {"a": 1, "b": 2}
    Savepoints(app.checkpoint, app.objects).delete("before")
    pinned = pinned_objects(app.checkpoint, app.objects)
    collect_garbage(
        app.objects, {task: [later]}, clock=clock, min_age=timedelta(hours=1), pinned=pinned
    )
    with pytest.raises(StateCorruptError, match="missing"):
        contents(app.checkpoint, old)


def test_savepoint_is_retried_if_its_commits_are_removed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = filled(tmp_path, kv())
    commits = app.checkpoint.commits("a", app.objects)
    put = app.objects.put_if_absent
    turns = [0]

    def racing(name: str, data: bytes) -> bool:
        done = put(name, data)
        if name.startswith("savepoints/") and not turns[0]:
            turns[0] += 1
            commits.append(Commit(4, "run", 6, app.last().tasks))
            commits.forget_before(4)
        return done

    monkeypatch.setattr(app.objects, "put_if_absent", racing)
    found = Savepoints(app.checkpoint, app.objects).create("x", CLOCK)
    assert found.commits["a"].batch == 4


def test_fork_has_state_and_offsets_and_outlives_original(tmp_path: Path) -> None:
    saved(tmp_path / "one")
    made = fork(ForkSource.parse(f"{tmp_path / 'one'}@before"), tmp_path / "two", "copy")
    shutil.rmtree(tmp_path / "one")
    assert made == Checkpoint.load(home_of(tmp_path / "two"))
    assert (made.app, made.origin) == ("copy", f"{tmp_path / 'one'}@before")
    seed = made.commits("a", made.log.open()).last()
    assert seed is not None
    assert (seed.batch, text_keys(seed.positions)) == (SEED, {"a/0": 7, "a/1": 7})
    assert seed.topics == {}  # its topics may be other topics of the same names
    for task, pointer in seed.pointers().items():
        assert contents(made, pointer, task) == {"a": 1, "b": 2}


def test_fork_with_start_time_has_no_positions_and_reads_topics_from_that_time(
    tmp_path: Path,
) -> None:
    saved(tmp_path / "one")
    when = datetime(2024, 1, 1, tzinfo=timezone.utc)
    made = fork(ForkSource(tmp_path / "one", "before", start=when), tmp_path / "two", "copy")
    seed = made.commits("a", made.log.open()).last()
    assert seed is not None
    assert made.start_ms == when.timestamp() * 1000
    assert seed.positions == {}
    assert all("next" not in pointer.meta for pointer in seed.pointers().values())


def test_impossible_forks_are_rejected(tmp_path: Path) -> None:
    app = saved(tmp_path / "one")
    source = ForkSource(tmp_path / "one", "before")
    with pytest.raises(SavepointError, match="does not name a savepoint"):
        ForkSource.parse("somewhere")
    with pytest.raises(NoCheckpointError):
        fork(ForkSource(tmp_path / "none", "x"), tmp_path / "two", "copy")
    with pytest.raises(SavepointError, match="already"):
        fork(source, tmp_path / "one", "copy")
    with pytest.raises(InvalidNameError, match="an app's id cannot be"):
        fork(source, tmp_path / "two", "../copy")
    lock = CheckpointLock(tmp_path / "two")
    lock.acquire()
    with pytest.raises(AppLockedError):
        fork(source, tmp_path / "two", "copy")
    lock.release()
    ref = app.last().pointers()[TaskId("a", 0)].deltas[0]
    app.objects.delete([ref.name])
    with pytest.raises(StateCorruptError, match="missing"):
        fork(source, tmp_path / "two", "copy")
    assert not (tmp_path / "two" / "app.json").exists()


def test_next_fork_removes_objects_of_interrupted_fork(tmp_path: Path) -> None:
    app = saved(tmp_path / "app")
    lost = next(iter(app.last().pointers()[TaskId("a", 1)].objects())).name
    data = app.objects.get(lost)
    app.objects.delete([lost])
    source, log = ForkSource(tmp_path / "app", "before"), Directory(str(tmp_path / "log"))
    log.open().put_if_absent("fork.0123456789ab.a/00/a/0/1-x.delta", b"of others")
    with pytest.raises(StateCorruptError):
        fork(source, tmp_path / "fork", "fork", log=log)
    half = set(log.open().list(""))
    with pytest.raises(StateCorruptError, match=r"it has fork\.json"):
        Checkpoint.open(home_of(tmp_path / "fork"), "fork", topology(kv()), tasks={"a": 2})
    with pytest.raises(StateCorruptError, match="an interrupted fork to app 'fork'"):
        fork(source, tmp_path / "fork", "trial", log=log)
    app.objects.put_if_absent(lost, data)
    fork(source, tmp_path / "fork", "fork", log=log)
    left = half & set(log.open().list(""))
    assert left == {"fork.0123456789ab.a/00/a/0/1-x.delta"}
    assert {path.name for path in (tmp_path / "fork").iterdir()} == {"app.json", "lock"}
