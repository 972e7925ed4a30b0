from __future__ import annotations

import json
from pathlib import Path

from kstreams.checkpoint.lock import CheckpointLock
from tests.kstreams.cli.terminal import kstreams, say


def checkpoint(path: str = ".kstreams/app") -> Path:
    folder = Path(path)
    folder.mkdir(parents=True)
    (folder / "app.json").write_text(json.dumps({"app": "app", "incarnation": "x"}))
    (folder / "big").write_bytes(bytes(2_000_000))
    return folder


def test_it_shows_what_goes_and_asks() -> None:
    folder = checkpoint()
    refused = kstreams("reset", "app", given="n\n")
    assert refused.exit_code == 1
    rows = [line.split() for line in refused.stderr.splitlines()]
    assert ["checkpoint", str(folder.absolute()), "3", "2.0", "MB"] in rows
    assert "Output topics stay as they are." in refused.stderr
    assert folder.exists()

    agreed = kstreams("reset", "app", given="y\n")
    assert agreed.exit_code == 0
    assert "input is read again from each source's start" in agreed.stdout
    assert not folder.exists()


def test_yes_does_not_ask() -> None:
    folder = checkpoint("elsewhere")
    Path("local/app/x").mkdir(parents=True)
    say("reset", "app", "--checkpoint", "elsewhere", "--state-dir", "local", "--yes")
    assert not folder.exists()
    assert list(Path("local").iterdir()) == []


def test_it_refuses_while_the_app_runs() -> None:
    lock = CheckpointLock(checkpoint())
    lock.acquire()
    result = kstreams("reset", "app", "--yes")
    lock.release()
    assert result.exit_code == 1
    assert result.stderr.startswith("AppLockedError: ")
    assert Path(".kstreams/app/big").exists()


def test_an_unknown_app_suggests_the_nearest() -> None:
    checkpoint()
    result = kstreams("reset", "ap", "--yes")
    assert result.exit_code == 1
    assert "did you mean 'app'?" in result.stderr
