"""A durable log that is not what the checkpoint stands on is never gone on from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from kstreams import Memory
from kstreams.checkpoint.resume import resume
from kstreams.errors import KStreamsError, LogMismatchError, StateCorruptError
from kstreams.state.log.directory import Directory
from tests.crash.points import Point
from tests.crash.scene import Scene
from tests.crash.workload import batch_of, emit, expected, told

NEVER = Point("nothing-dies", "never")
BATCHES = 5

Damage = Callable[[Scene], None]


def scene_in(home: Path, patch: pytest.MonkeyPatch) -> Scene:
    log = Directory(str(home / "log"))
    scene = Scene(home, Memory(directory=str(home / "local")), log, NEVER, "restart", patch)
    scene.start_driver()
    return scene


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """An app that has stopped after some batches; copies of it when it was younger."""
    made = scene_in(tmp_path / "app", monkeypatch)
    for number in range(BATCHES):
        made.batch()
        for part in (log_of(made), query_of(made)):
            shutil.copytree(part, copy_of(made, part, number))
    made.end_process()
    return made


def log_of(scene: Scene) -> Path:
    return scene.home / "log"


def query_of(scene: Scene) -> Path:
    (query,) = (scene.home / "checkpoint" / "queries").iterdir()
    return query


def copy_of(scene: Scene, part: Path, batch: int) -> Path:
    return scene.home / "copies" / f"{part.name}-after-{batch}"


def commits_of(scene: Scene) -> list[Path]:
    return sorted((log_of(scene) / "commits").glob("*/0*.json"))


def plans_of(scene: Scene) -> list[Path]:
    return sorted((query_of(scene) / "plans").glob("0*.json"))


def restored(part: Path, copy: Path) -> None:
    shutil.rmtree(part)
    shutil.copytree(copy, part)


def gone(scene: Scene) -> None:
    shutil.rmtree(log_of(scene))


def without_commits(scene: Scene) -> None:
    shutil.rmtree(log_of(scene) / "commits")


def last_commit_gone(scene: Scene) -> None:
    commits_of(scene)[-1].unlink()


def last_commits_gone(scene: Scene) -> None:
    for commit in commits_of(scene)[-3:]:
        commit.unlink()


def all_commits_gone(scene: Scene) -> None:
    for commit in commits_of(scene):
        commit.unlink()


def older(scene: Scene) -> None:
    restored(log_of(scene), copy_of(scene, log_of(scene), 1))


def older_and_spark_gone(scene: Scene) -> None:
    older(scene)
    shutil.rmtree(query_of(scene) / "spark")


def all_commits_and_plans_gone(scene: Scene) -> None:
    gone(scene)
    shutil.rmtree(query_of(scene))


def another_beginning(scene: Scene) -> None:
    (begin,) = (log_of(scene) / "commits").glob("*/begin.json")
    content = json.loads(begin.read_text())
    begin.write_text(json.dumps({**content, "incarnation": "0123456789ab"}))


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (gone, "it is empty, but not 'commits/"),
        (without_commits, "it holds other objects, but not 'commits/"),
        (all_commits_gone, "batch 3 was committed, and its commit is missing; the log has no"),
        (last_commit_gone, "batch 4 was completed, as Spark has noted, and its commit is missing"),
        (last_commits_gone, "batch 3 was committed, and its commit is missing; the log ends with"),
        (older, "batch 3 was committed, and its commit is missing; the log ends with batch 1"),
        (older_and_spark_gone, "batch 3 was committed, and its commit is missing"),
        (all_commits_and_plans_gone, "it is empty, but not"),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_a_log_that_lacks_what_was_committed_is_refused(
    scene: Scene, damage: Damage, problem: str
) -> None:
    damage(scene)
    with pytest.raises(LogMismatchError, match=problem) as caught:
        scene.recover(driver=True)
    assert "kstreams reset" in caught.value.hint
    assert "bring the log back" in caught.value.hint


def test_the_log_of_another_life_is_refused(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = scene_in(tmp_path / "other", monkeypatch)
    other.batch()
    other.end_process()
    restored(log_of(scene), log_of(other))
    with pytest.raises(LogMismatchError, match="it holds other objects"):
        scene.recover(driver=True)


def test_the_commits_of_another_life_under_our_names_are_refused(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = scene_in(tmp_path / "other", monkeypatch)
    for _ in range(BATCHES):
        other.batch()
    other.end_process()
    for ours, theirs in zip(commits_of(scene), commits_of(other), strict=True):
        shutil.copy(theirs, ours)
    with pytest.raises(StateCorruptError, match="copied here from elsewhere"):
        scene.recover(driver=True)


def test_a_beginning_that_was_changed_is_refused(scene: Scene) -> None:
    another_beginning(scene)
    with pytest.raises(StateCorruptError, match=r"the beginning of the log.*does not match"):
        scene.recover(driver=True)


def plans_older(scene: Scene) -> None:
    restored(query_of(scene), copy_of(scene, query_of(scene), 1))


def plans_alone_older(scene: Scene) -> None:
    plans = query_of(scene) / "plans"
    restored(plans, copy_of(scene, query_of(scene), 1) / "plans")


def plans_gone(scene: Scene) -> None:
    shutil.rmtree(query_of(scene) / "plans")


def spark_gone(scene: Scene) -> None:
    shutil.rmtree(query_of(scene) / "spark")


def query_gone(scene: Scene) -> None:
    shutil.rmtree(query_of(scene))


def last_commit_gone_unnoted(scene: Scene) -> None:
    """As if the driver was killed between commit and Spark's note, and the commit lost."""
    last_commit_gone(scene)
    (query_of(scene) / "spark" / "commits" / str(BATCHES - 1)).unlink()


def moved_as_a_whole(scene: Scene) -> None:
    """Another disk: nothing in it says where it lay."""
    for part in ("checkpoint", "log"):
        (scene.home / part).rename(scene.home / f"{part}-2")
        (scene.home / f"{part}-2").rename(scene.home / part)


@pytest.mark.parametrize(
    "damage",
    [
        plans_older,
        plans_alone_older,
        plans_gone,
        spark_gone,
        query_gone,
        moved_as_a_whole,
    ],
    ids=lambda given: given.__name__,
)
def test_what_the_log_can_make_up_for_is_gone_on_from(scene: Scene, damage: Damage) -> None:
    damage(scene)
    scene.recover(driver=True)
    for _ in range(3):
        scene.batch()
    scene.check()


@pytest.mark.parametrize("damage", [plans_older, plans_alone_older, plans_gone])
def test_older_plans_leave_the_positions_to_the_last_commit(scene: Scene, damage: Damage) -> None:
    damage(scene)
    found = resume(scene.checkpoint, scene.pipeline.name, scene.log.open())
    assert found.last is not None
    assert found.last.batch == BATCHES - 1
    assert (found.positions, found.pending) == (found.last.positions, None)


def test_no_plan_is_written_once_the_app_stops(scene: Scene) -> None:
    emit(scene.connection, batch_of(BATCHES), BATCHES)
    scene.pipeline._query = None
    scene.pipeline.stop(timedelta(0))
    scene.pipeline._number = BATCHES
    scene.pipeline._waits.set()
    scene.pipeline.tick()
    assert len(plans_of(scene)) == BATCHES


def test_a_plan_that_was_written_runs_although_the_app_stops(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline, wanted = scene.pipeline, scene.pipeline._wanted
    plan_at_once = wanted.set

    def plan_and_stop() -> None:
        plan_at_once()
        pipeline._stopping = True

    monkeypatch.setattr(wanted, "set", plan_and_stop)
    monkeypatch.setattr(pipeline, "_await_end", lambda: None)
    records = batch_of(BATCHES)
    emit(scene.connection, records, BATCHES)
    scene.input += records
    scene.spark.run_batch()
    assert len(commits_of(scene)) == BATCHES + 1
    scene.end_process()
    scene.batch()
    check_counts(scene)


def check_counts(scene: Scene) -> None:
    """Compare all but the marks: a batch that runs again gives others."""
    numbers, state = told(scene._published())
    assert numbers == expected(scene.input)
    marks = scene.state()
    assert {key: len(own) for key, own in marks.items()} == {k: len(v) for k, v in state.items()}


def test_a_lost_commit_that_spark_did_not_note_is_made_again_by_its_plan(scene: Scene) -> None:
    last_commit_gone_unnoted(scene)
    scene.recover(driver=True)
    scene.batch()
    check_counts(scene)


@pytest.mark.parametrize("lost", [False, True], ids=["spark-kept", "spark-gone"])
def test_a_plan_behind_a_batch_without_one_runs_in_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    scene = scene_in(tmp_path, monkeypatch)
    scene.batch()
    scene.batch()
    for noted in ("offsets", "commits"):  # as a stop leaves a batch that had no plan
        (query_of(scene) / "spark" / noted / "2").touch()
    scene.batch()
    assert [int(plan.stem) for plan in plans_of(scene)] == [0, 1, 3]
    commits_of(scene)[-1].unlink()
    (query_of(scene) / "spark" / "commits" / "3").unlink()
    if lost:
        spark_gone(scene)
    scene.recover(driver=True)
    emit(scene.connection, more := batch_of(3), 3)
    scene.input += more
    for _ in range(BATCHES):
        scene.spark.run_batch()
        if scene.pipeline._planner.reached(scene.pipeline.end()) and len(commits_of(scene)) > 3:
            break
    assert [int(plan.stem) for plan in plans_of(scene)] == [0, 1, 3, 4]
    scene.end_process()
    check_counts(scene)


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:40])


def one_digit_changed(file: Path) -> None:
    text = file.read_text()
    at = next(n for n, char in enumerate(text) if char.isdigit())
    file.write_text(text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :])


def filled_with_nothing(file: Path) -> None:
    file.write_bytes(b"\0" * 100)


@pytest.mark.parametrize(
    "damage", [emptied, cut, one_digit_changed, filled_with_nothing], ids=lambda d: d.__name__
)
@pytest.mark.parametrize("which", ["commit", "plan", "app.json", "begin.json"])
def test_a_damaged_file_is_named(scene: Scene, which: str, damage: Callable[[Path], None]) -> None:
    (begin,) = (log_of(scene) / "commits").glob("*/begin.json")
    files = {
        "commit": commits_of(scene)[-1],
        "plan": plans_of(scene)[-1],
        "app.json": scene.home / "checkpoint" / "app.json",
        "begin.json": begin,
    }
    damage(files[which])
    with pytest.raises(KStreamsError, match=r"cannot be read|has format") as caught:
        scene.recover(driver=True)
    assert files[which].name in str(caught.value)
    assert caught.value.hint


def test_a_commit_copied_to_a_later_number_is_refused(scene: Scene) -> None:
    last = commits_of(scene)[-1]
    shutil.copy(last, last.with_name(f"{BATCHES:020d}.json"))
    with pytest.raises(StateCorruptError, match=f"{BATCHES:020d}.json.*copied here"):
        scene.recover(driver=True)


def test_a_plan_copied_to_a_later_number_is_refused(scene: Scene) -> None:
    last = plans_of(scene)[-1]
    shutil.copy(last, last.with_name(f"{BATCHES:012d}.json"))
    with pytest.raises(StateCorruptError, match=f"{BATCHES:012d}.json.*copied here"):
        scene.recover(driver=True)


def test_files_that_are_not_ours_stop_nothing(scene: Scene) -> None:
    for folder in (commits_of(scene)[0].parent, plans_of(scene)[0].parent):
        (folder / "notes.txt").write_text("not ours")
        (folder / "5.json").write_text("{}")
        (folder / "00000000000000000009.json.bak").write_text("{}")
    (task,) = {path.parent for path in log_of(scene).glob("crash*/*/*/0/*.delta")}
    (task / "notes.txt").write_text("not ours")
    scene.recover(driver=True)
    for _ in range(2):
        scene.batch()
    scene.pipeline._sweep()
    assert (task / "notes.txt").exists()
    assert len(scene.checkpoint.commits(scene.pipeline.name, scene.log.open()).strays()) == 3
    assert scene.pipeline._plans.strays() == [
        "00000000000000000009.json.bak",
        "5.json",
        "notes.txt",
    ]


@pytest.mark.parametrize("left", ["queries", "state", "generations", "spark", "plans"])
def test_what_is_left_of_a_checkpoint_is_no_new_one(scene: Scene, left: str) -> None:
    checkpoint = scene.home / "checkpoint"
    (checkpoint / "app.json").unlink()
    (checkpoint / "queries").rename(checkpoint / left)
    with pytest.raises(StateCorruptError, match=f"it has {left}, but no app.json") as caught:
        scene.recover(driver=True)
    assert "bring app.json back" in caught.value.hint
