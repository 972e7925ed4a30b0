"""Scratch directories of a process: those of killed processes are removed, others kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kstreams.scratch import remove_dead_scratch, scratch_directory

_HOLD = """
import os, sys
from kstreams.scratch import scratch_directory
with scratch_directory() as home:
    (home / "old").mkdir()
    print(home, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_scratch_directory_is_removed_after_use(folder: Path) -> None:
    with scratch_directory() as home:
        (home / "new").mkdir()
        assert remove_dead_scratch() == 0
        assert home.is_dir()
    assert list(folder.iterdir()) == []


@pytest.mark.kill
def test_scratch_directory_of_killed_process_is_removed_and_of_live_one_kept(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    home = Path(process.stdout.readline().strip())
    with scratch_directory() as own:
        assert {home, own} == set(folder.iterdir())
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert home.is_dir()
    with scratch_directory() as own:
        assert set(folder.iterdir()) == {own}


def test_scratch_directories_of_possible_other_owners_are_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (folder / "kstreams-scratch-link").symlink_to(elsewhere)
    (folder / "kstreams-scratch-unlocked").mkdir()
    assert remove_dead_scratch() == 0
    (folder / "kstreams-scratch-unlocked" / "lock").touch()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert remove_dead_scratch() == 0
    assert remove_dead_scratch() == 1
    assert sorted(path.name for path in folder.iterdir()) == ["elsewhere", "kstreams-scratch-link"]
