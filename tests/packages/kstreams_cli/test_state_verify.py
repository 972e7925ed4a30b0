"""`kstreams state verify` and other commands on a damaged or foreign log."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kstreams.checkpoint.log_headers import begin_logs
from kstreams.checkpoint.planning.plans import Plan
from kstreams.ids import TopicPartition, text_keys
from kstreams.state.log.document import seal
from kstreams.state.log.pointer import Pointer
from kstreams_cli.verification import Verification
from tests.packages.kstreams_cli.test_state import COUNTS, WHERE
from tests.support.apps.committing_app import Committing
from tests.support.cli.command_line import kstreams, say

COMMITS = "c/state/commits/viewed.{epoch}.in"


PLANS = Path("c/queries/in/plans")


class Written(Committing):
    """An app with plans, whose commits refer to their plan and to the commit before."""

    def __init__(self) -> None:
        super().__init__(Path("c").absolute(), COUNTS)
        self.checkpoint = begin_logs(self.checkpoint, self.objects, {})
        self.plans = self.checkpoint.plans("in")
        self.folder = Path(COMMITS.format(epoch=self.checkpoint.checkpoint_id))
        for number in range(5):
            self.put([(f"key-{number}", number)])
            bare, before = self.commits.recent(2)[-1], self.commits.recent(2)[0]
            after = before.id if number else None
            plan = Plan({(0, 0): ()}, {TopicPartition("in", 0): number}, after=after)
            plan = self.plans.write(number, plan)
            commit = replace(bare, after=after, plan=plan.digest, positions=plan.positions)
            self.file(number).unlink()
            self.commits.append(commit)
        done = Path("c/queries/in/done")
        done.mkdir(parents=True)
        for number in range(5):
            (done / str(number)).touch()

    def file(self, number: int) -> Path:
        return self.folder / f"{number:020d}.json"

    def forge(self, number: int, **fields: object) -> None:
        """Write a forged commit with a valid checksum."""
        content = json.loads(self.file(number).read_text())
        name = content.pop("document")
        del content["sum"]
        self.file(number).write_bytes(seal({**content, **fields}, name).data)


@pytest.fixture
def written() -> Written:
    return Written()


def verify(*options: str) -> tuple[int, str]:
    found = kstreams("state", "verify", "viewed", *WHERE, *options)
    return found.exit_code, " ".join(found.stderr.split())


def test_verify_of_an_intact_app_finds_no_problem(written: Written) -> None:
    say("state", "savepoint", "viewed", "monday", *WHERE)
    assert verify()[0] == 0
    found = Verification(written.checkpoint, written.objects)
    assert [part.label for part in found.parts()] == ["in", "savepoint monday"]
    assert (found.problems, found.strays) == ({}, [])
    assert any(link is not None for link in found.checked.values())


def last_commit_gone(written: Written) -> None:
    written.file(4).unlink()


def a_commit_between_gone(written: Written) -> None:
    written.file(2).unlink()


def all_gone(written: Written) -> None:
    shutil.rmtree("c/state")


def a_digit_changed(written: Written) -> None:
    text = written.file(2).read_text()
    written.file(2).write_text(text.replace('"wall_ms":1002', '"wall_ms":1003'))


def a_commit_emptied(written: Written) -> None:
    written.file(1).write_text("")


def a_plan_cut(written: Written) -> None:
    file = PLANS / f"{2:012d}.json"
    file.write_text(file.read_text()[:30])


def another_plan(written: Written) -> None:
    (PLANS / f"{3:012d}.json").unlink()
    written.plans.write(3, Plan({(0, 0): ()}, {TopicPartition("in", 0): 300}))


def another_version_id(written: Written) -> None:
    tasks = {
        task: replace(pointer, version_id="ab" * 32).to_json()
        for task, pointer in written.commits.at(4).pointers().items()
    }
    written.forge(4, tasks=text_keys(tasks))


def a_delta_left_out(written: Written) -> None:
    tasks = {
        task: (replace(p, deltas=p.deltas[1:]) if len(p.deltas) > 1 else p).to_json()
        for task, p in written.commits.at(3).pointers().items()
    }
    assert any(Pointer.from_json(text).version > 1 for text in tasks.values())
    written.forge(3, tasks=text_keys(tasks))


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (last_commit_gone, "batch 4 is recorded as completed"),
        (a_commit_between_gone, "in, batch 3: its commit follows"),
        (all_gone, "it is empty, but not"),
        (a_digit_changed, "in, batch 2: commit"),
        (a_commit_emptied, "the document is empty"),
        (a_plan_cut, "plan 2: plan"),
        (another_plan, "plan 3: the commit of its batch has another plan"),
        (another_version_id, "it ends at version"),
        (a_delta_left_out, "deltas are missing between version"),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_verify_names_damaged_and_missing_objects(
    written: Written, damage: Callable[[Written], None], problem: str
) -> None:
    damage(written)
    code, text = verify()
    assert code == 1
    assert problem in text


def test_verify_lists_files_that_do_not_belong_to_app_and_exits_with_zero(written: Written) -> None:
    (written.folder / "notes.txt").write_text("x")
    (PLANS / "7.json").write_text("x")
    savepoints = Path("c/state") / written.checkpoint.savepoints_prefix
    savepoints.mkdir(parents=True)
    (savepoints / "notes.txt").write_text("x")
    code, text = verify()
    assert code == 0
    assert text.count("notes.txt: does not belong to the app") == 2
    assert "7.json: does not belong to the app" in text


def test_damaged_savepoint_is_named_and_can_be_deleted(written: Written) -> None:
    say("state", "savepoint", "viewed", "monday", *WHERE)
    (file,) = Path("c/state/savepoints").glob("*/monday.json")
    file.write_text(file.read_text()[:50])
    code, text = verify()
    assert code == 1
    assert "savepoint monday: savepoint" in text
    assert "cannot be read" in text
    say("state", "savepoint", "viewed", "monday", "--delete", *WHERE)
    assert verify()[0] == 0


@pytest.mark.parametrize(
    "command",
    [
        ("list", "viewed"),
        ("get", "viewed", "counts", "key-1"),
        ("scan", "viewed", "counts"),
        ("savepoint", "viewed", "monday"),
    ],
    ids=lambda command: command[0],
)
def test_verify_reports_missing_log_instead_of_empty_app(
    written: Written, command: tuple[str, ...]
) -> None:
    Path("c/state").rename("aside")
    found = kstreams("state", *command, *WHERE)
    assert found.exit_code == 1
    assert found.stderr.startswith("LogMismatchError: the durable log")
    Path("aside").rename("c/state")
    assert kstreams("state", *command, *WHERE).exit_code == 0
