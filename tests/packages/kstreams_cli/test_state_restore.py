"""`kstreams state restore`: its output, its question and its refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams.checkpoint.storage.lock import CheckpointLock
from tests.packages.kstreams_admin.test_changelog_restore import LOGGED, PAIRS, Logging
from tests.support.cli.command_line import kstreams

COMMAND = (
    "state", "restore", "app", "--from-changelog",
    "--topology", "shapes:TOPOLOGY", "--checkpoint", "checkpoint", "--data", "topics",
)  # fmt: skip


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Logging:
    """An app whose state is lost, in the current directory."""
    monkeypatch.syspath_prepend(".")
    Path("shapes.py").write_text(
        "from tests.packages.kstreams_admin.test_changelog_restore import LOGGED, topology\n"
        "TOPOLOGY = topology(LOGGED)\n"
    )
    made = Logging(Path.cwd(), LOGGED)
    made.commit(PAIRS)
    made.lose_state()
    return made


def test_restore_asks_for_confirmation_and_shows_progress(app: Logging) -> None:
    refused = kstreams(*COMMAND, given="n\n")
    assert refused.exit_code == 1
    assert "Store s of app will be cleared and rebuilt from topic s-log in topics" in refused.stderr
    done = kstreams(*COMMAND, "s", given="y\n")
    assert done.stdout.endswith("Rebuilt 1 store of app from 9 records.\n")
    assert "s, partition 0:" in done.stderr
    assert app.read() == PAIRS


def test_restore_refuses_while_the_app_runs(app: Logging) -> None:
    lock = CheckpointLock(app.path)
    lock.acquire()
    result = kstreams(*COMMAND, "--yes")
    lock.release()
    assert result.exit_code == 1
    assert result.stderr.startswith("AppLockedError: ")


def test_state_restore_without_changelog_source_is_refused(app: Logging) -> None:
    result = kstreams("state", "restore", "app", "--topology", "shapes:TOPOLOGY")
    assert result.exit_code == 2
    assert "give --from-changelog" in result.stderr
