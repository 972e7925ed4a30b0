"""`kstreams reset` lists the files to delete, asks, and refuses while the app runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kstreams import INT64, TEXT, key_value_store
from kstreams.checkpoint.storage.lock import CheckpointLock
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.state.log.directory import Directory
from tests.packages.kstreams_admin.test_reset import read_files
from tests.support.apps.committing_app import Committing
from tests.support.cli.command_line import kstreams, say

EPOCH = "0123456789ab"
COUNTS = key_value_store("counts", key=TEXT, value=INT64)


def checkpoint(path: str = ".kstreams/app") -> Path:
    folder = Path(path)
    (folder / "queries").mkdir(parents=True)
    (folder / "app.json").write_text(json.dumps({"app": "app", "incarnation": EPOCH}))
    (folder / "queries" / "big").write_bytes(bytes(2_000_000))
    return folder


def test_reset_lists_files_and_asks_for_confirmation() -> None:
    folder = checkpoint()
    refused = kstreams("reset", "app", given="n\n")
    assert refused.exit_code == 1
    rows = [line.split() for line in refused.stderr.splitlines()]
    assert ["checkpoint", str(folder.absolute()), "3", "2.0", "MB"] in rows
    assert "Output topics are unchanged." in refused.stderr
    assert folder.exists()

    agreed = kstreams("reset", "app", given="y\n")
    assert agreed.exit_code == 0
    assert "The next run reads its input from the start of each source" in agreed.stdout
    assert not folder.exists()


def test_reset_with_yes_needs_no_confirmation() -> None:
    folder = checkpoint("elsewhere")
    Path(f"local/app/{EPOCH}").mkdir(parents=True)
    say("reset", "app", "--checkpoint", "elsewhere", "--state-dir", "local", "--yes")
    assert not folder.exists()
    assert list(Path("local").iterdir()) == []


@pytest.mark.parametrize("given", ["n\n", "--yes"])
def test_reset_names_sources_whose_input_cannot_be_read_again(given: str) -> None:
    read_files(home_of(".kstreams/app"), "delete")
    options = ("--yes",) if given == "--yes" else ()
    said = " ".join(kstreams("reset", "app", *options, given=given).stderr.split())
    assert (
        said.count("Source 'lines' does not read its committed records again: files are deleted")
        == 1
    )
    assert "'kept'" not in said


def test_reset_refuses_while_the_app_runs() -> None:
    lock = CheckpointLock(checkpoint())
    lock.acquire()
    result = kstreams("reset", "app", "--yes")
    lock.release()
    assert result.exit_code == 1
    assert result.stderr.startswith("AppLockedError: ")
    assert Path(".kstreams/app/queries/big").exists()


def test_reset_of_an_unknown_app_suggests_similar_ones() -> None:
    checkpoint()
    result = kstreams("reset", "ap", "--yes")
    assert result.exit_code == 1
    assert "did you mean 'app'?" in result.stderr


def test_reset_deletes_objects_of_a_named_log(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("where.py").write_text(
        "from kstreams.state.log.directory import Directory\nLOG = Directory('log')\n"
    )
    monkeypatch.syspath_prepend(".")
    checkpoint()
    log = Directory("log").open()
    log.put_if_absent(f"app.{EPOCH}.q/00/g/0/1-x.delta", b"x")
    log.put_if_absent(f"app.{EPOCH[::-1]}.q/00/g/0/1-x.delta", b"x")
    unnamed = kstreams("reset", "app", given="n\n")
    assert "add --log to remove its objects, too" in unnamed.stderr
    named = kstreams("reset", "app", "--log", "where:LOG", given="y\n")
    assert "It also removes 1 object of the durable log." in named.stderr
    assert "and 1 object removed" in named.stdout
    assert list(log.list("")) == [f"app.{EPOCH[::-1]}.q/00/g/0/1-x.delta"]


def test_reset_names_the_savepoints_to_delete() -> None:
    Committing(Path(".kstreams/viewed").absolute(), COUNTS).put([("a", 1)])
    say("state", "savepoint", "viewed", "monday")
    assert (
        "It also removes these savepoints: monday"
        in kstreams("reset", "viewed", given="n\n").stderr
    )
