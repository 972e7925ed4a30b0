"""An app does not start on a durable log that does not match its checkpoint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kstreams.checkpoint.resume import resume
from kstreams.errors import KStreamsError, LogMismatchError, StateCorruptError
from tests.crash.stopped_app import (
    BATCHES,
    check_counts,
    commits_of,
    copy_of,
    log_of,
    plans_of,
    query_of,
    scene_in,
    stopped_app,
)
from tests.support.crash.harness import Harness

Damage = Callable[[Harness], None]


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Harness:
    return stopped_app(tmp_path / "app", monkeypatch)


def restored(part: Path, copy: Path) -> None:
    shutil.rmtree(part)
    shutil.copytree(copy, part)


def gone(harness: Harness) -> None:
    shutil.rmtree(log_of(harness))


def without_commits(harness: Harness) -> None:
    shutil.rmtree(log_of(harness) / "commits")


def last_commit_gone(harness: Harness) -> None:
    commits_of(harness)[-1].unlink()


def last_commits_gone(harness: Harness) -> None:
    for commit in commits_of(harness)[-3:]:
        commit.unlink()


def all_commits_gone(harness: Harness) -> None:
    for commit in commits_of(harness):
        commit.unlink()


def older(harness: Harness) -> None:
    restored(log_of(harness), copy_of(harness, log_of(harness), 1))


def older_and_notes_gone(harness: Harness) -> None:
    older(harness)
    shutil.rmtree(query_of(harness) / "done")


def all_commits_and_plans_gone(harness: Harness) -> None:
    gone(harness)
    shutil.rmtree(query_of(harness))


def another_beginning(harness: Harness) -> None:
    (begin,) = (log_of(harness) / "commits").glob("*/begin.json")
    content = json.loads(begin.read_text())
    begin.write_text(json.dumps({**content, "incarnation": "0123456789ab"}))


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (gone, "it is empty, but not 'commits/"),
        (without_commits, "it holds other objects, but not 'commits/"),
        (
            all_commits_gone,
            "the commit of batch 3 is missing, although the batch was committed; the log has no",
        ),
        (last_commit_gone, "batch 4 is recorded as completed, but its commit is missing"),
        (
            last_commits_gone,
            "the commit of batch 3 is missing, although the batch was committed; the log ends with",
        ),
        (
            older,
            (
                "the commit of batch 3 is missing, although the batch was committed; "
                "the log ends with batch 1"
            ),
        ),
        (
            older_and_notes_gone,
            "the commit of batch 3 is missing, although the batch was committed",
        ),
        (all_commits_and_plans_gone, "it is empty, but not"),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_log_that_lacks_committed_objects_is_refused(
    harness: Harness, damage: Damage, problem: str
) -> None:
    damage(harness)
    with pytest.raises(LogMismatchError, match=problem) as caught:
        harness.recover(driver=True)
    assert "kstreams reset" in caught.value.hint
    assert "restore the durable log" in caught.value.hint


def test_log_of_another_checkpoint_is_refused(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = scene_in(tmp_path / "other", monkeypatch)
    other.batch()
    other.end_process()
    restored(log_of(harness), log_of(other))
    with pytest.raises(LogMismatchError, match="it holds other objects"):
        harness.recover(driver=True)


def test_commits_copied_from_another_checkpoint_are_refused(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = scene_in(tmp_path / "other", monkeypatch)
    for _ in range(BATCHES):
        other.batch()
    other.end_process()
    for ours, theirs in zip(commits_of(harness), commits_of(other), strict=True):
        shutil.copy(theirs, ours)
    with pytest.raises(StateCorruptError, match="which was copied to this name"):
        harness.recover(driver=True)


def test_log_with_a_changed_begin_file_is_refused(harness: Harness) -> None:
    another_beginning(harness)
    with pytest.raises(StateCorruptError, match=r"the beginning of the log.*does not match"):
        harness.recover(driver=True)


def plans_older(harness: Harness) -> None:
    restored(query_of(harness), copy_of(harness, query_of(harness), 1))


def plans_alone_older(harness: Harness) -> None:
    plans = query_of(harness) / "plans"
    restored(plans, copy_of(harness, query_of(harness), 1) / "plans")


def plans_gone(harness: Harness) -> None:
    shutil.rmtree(query_of(harness) / "plans")


def notes_gone(harness: Harness) -> None:
    shutil.rmtree(query_of(harness) / "done")


def query_gone(harness: Harness) -> None:
    shutil.rmtree(query_of(harness))


def last_commit_gone_unnoted(harness: Harness) -> None:
    """Lose the last commit and its note, as if the driver was killed between them."""
    last_commit_gone(harness)
    (query_of(harness) / "done" / str(BATCHES - 1)).unlink()


def note_behind(harness: Harness) -> None:
    """Lose the last note, as if the driver was killed before it."""
    (query_of(harness) / "done" / "4").unlink()


def moved_as_a_whole(harness: Harness) -> None:
    """Move checkpoint and log as to another disk: no file contains its own path."""
    for part in ("checkpoint", "log"):
        (harness.home / part).rename(harness.home / f"{part}-2")
        (harness.home / f"{part}-2").rename(harness.home / part)


@pytest.mark.parametrize(
    "damage",
    [
        plans_older,
        plans_alone_older,
        plans_gone,
        notes_gone,
        note_behind,
        query_gone,
        moved_as_a_whole,
    ],
    ids=lambda given: given.__name__,
)
def test_app_continues_exactly_after_damage_that_the_log_can_repair(
    harness: Harness, damage: Damage
) -> None:
    damage(harness)
    harness.recover(driver=True)
    for _ in range(3):
        harness.batch()
    harness.check()


@pytest.mark.parametrize("damage", [plans_older, plans_alone_older, plans_gone])
def test_resume_uses_positions_of_the_last_commit_if_plans_are_older(
    harness: Harness, damage: Damage
) -> None:
    damage(harness)
    found = resume(harness.checkpoint, harness.query.name, harness.log.open())
    assert found.last is not None
    assert found.last.batch == BATCHES - 1
    assert (found.positions, found.pending) == (found.last.positions, None)


def test_lost_commit_of_a_batch_without_done_note_is_repeated_from_its_plan(
    harness: Harness,
) -> None:
    last_commit_gone_unnoted(harness)
    harness.recover(driver=True)
    harness.batch()
    check_counts(harness)


def test_commit_files_of_spark_detect_a_lost_commit_until_done_notes_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = scene_in(tmp_path, monkeypatch)
    harness.batch()
    harness.batch()
    notes_gone(harness)
    older = query_of(harness) / "spark" / "commits"
    older.mkdir(parents=True)
    for noted in ("0", "1", "2", ".2.crc"):  # Spark had noted a batch without a plan, too
        (older / noted).touch()
    harness.recover(driver=True)
    harness.batch()
    commits_of(harness)[-1].unlink()
    (query_of(harness) / "done" / "2").unlink()
    harness.recover(driver=True)
    harness.batch()
    assert [int(plan.stem) for plan in plans_of(harness)] == [0, 1, 2, 3]
    check_counts(harness)
    harness.end_process()
    commits_of(harness)[-1].unlink()
    shutil.rmtree(query_of(harness) / "done")
    (older / "3").touch()
    with pytest.raises(LogMismatchError, match="batch 3 is recorded as completed"):
        harness.recover(driver=True)


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
def test_damaged_file_is_named_in_the_error(
    harness: Harness, which: str, damage: Callable[[Path], None]
) -> None:
    (begin,) = (log_of(harness) / "commits").glob("*/begin.json")
    files = {
        "commit": commits_of(harness)[-1],
        "plan": plans_of(harness)[-1],
        "app.json": harness.home / "checkpoint" / "app.json",
        "begin.json": begin,
    }
    damage(files[which])
    with pytest.raises(KStreamsError, match=r"cannot be read|has format") as caught:
        harness.recover(driver=True)
    assert files[which].name in str(caught.value)
    assert caught.value.hint


def test_commit_copied_to_a_later_number_is_refused(harness: Harness) -> None:
    last = commits_of(harness)[-1]
    shutil.copy(last, last.with_name(f"{BATCHES:020d}.json"))
    with pytest.raises(StateCorruptError, match=f"{BATCHES:020d}.json.*copied to this name"):
        harness.recover(driver=True)


def test_plan_copied_to_a_later_number_is_refused(harness: Harness) -> None:
    last = plans_of(harness)[-1]
    shutil.copy(last, last.with_name(f"{BATCHES:012d}.json"))
    with pytest.raises(StateCorruptError, match=f"{BATCHES:012d}.json.*copied to this name"):
        harness.recover(driver=True)


def test_foreign_files_in_checkpoint_and_log_are_ignored(harness: Harness) -> None:
    for folder in (commits_of(harness)[0].parent, plans_of(harness)[0].parent):
        (folder / "notes.txt").write_text("not ours")
        (folder / "5.json").write_text("{}")
        (folder / "00000000000000000009.json.bak").write_text("{}")
    (packs,) = {path.parent for path in log_of(harness).glob("crash*/packs/*/*.pack")}
    (packs / "notes.txt").write_text("not ours")
    harness.recover(driver=True)
    for _ in range(2):
        harness.batch()
    harness.query.driver.sweep()
    assert (packs / "notes.txt").exists()
    assert len(harness.checkpoint.commits(harness.query.name, harness.log.open()).strays()) == 3
    assert harness.query.driver._opened.plans.strays() == [
        "00000000000000000009.json.bak",
        "5.json",
        "notes.txt",
    ]


@pytest.mark.parametrize("left", ["queries", "state", "generations", "spark", "plans"])
def test_checkpoint_without_app_json_is_refused_as_incomplete(harness: Harness, left: str) -> None:
    checkpoint = harness.home / "checkpoint"
    (checkpoint / "app.json").unlink()
    (checkpoint / "queries").rename(checkpoint / left)
    with pytest.raises(StateCorruptError, match=f"it has {left}, but no app.json") as caught:
        harness.recover(driver=True)
    assert "restore app.json from a copy" in caught.value.hint
