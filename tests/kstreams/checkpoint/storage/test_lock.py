"""The lock of a checkpoint: one app at a time, released when its process ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kstreams.checkpoint.storage.lock import CheckpointLock
from kstreams.errors import AppLockedError, CheckpointMismatchError, FencedError

_HOLD = """
import sys
from pathlib import Path
from kstreams.checkpoint.storage.lock import CheckpointLock
lock = CheckpointLock(Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


def _holder(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_second_lock_of_checkpoint_is_rejected_with_name_of_holder(tmp_path: Path) -> None:
    first, second = CheckpointLock(tmp_path), CheckpointLock(tmp_path)
    first.acquire()
    with pytest.raises(AppLockedError) as caught:
        second.acquire()
    assert str(os.getpid()) in caught.value.owner
    assert str(tmp_path) in str(caught.value)
    assert "Hint: stop that app" in str(caught.value)
    first.release()
    first.release()
    second.acquire()
    second.release()


@pytest.mark.kill
def test_lock_held_by_other_process_is_released_by_its_death(tmp_path: Path) -> None:
    with _holder(tmp_path) as process:
        lock = CheckpointLock(tmp_path)
        with pytest.raises(AppLockedError, match=rf'"pid": {process.pid}\b'):
            lock.acquire()
        process.send_signal(signal.SIGKILL)
        process.wait()
        lock.acquire()
        lock.release()


def test_checkpoint_lock_does_not_block_locks_of_other_checkpoints(tmp_path: Path) -> None:
    one, other = CheckpointLock(tmp_path / "one"), CheckpointLock(tmp_path / "other")
    one.acquire()
    other.acquire()
    one.release()
    other.release()


def test_lock_check_after_takeover_raises_fenced_error_although_file_locks_do_not_work(
    tmp_path: Path,
) -> None:
    older, newer = CheckpointLock(tmp_path), CheckpointLock(tmp_path)
    older.acquire()
    older.check()
    (tmp_path / "lock").unlink()  # so both can take the lock
    with pytest.raises(FencedError, match=r"taken over by another app \(unknown\)"):
        older.check()
    newer.acquire()
    newer.check()
    with pytest.raises(FencedError, match=rf'"pid": {os.getpid()}\b') as caught:
        older.check()
    assert str(tmp_path) in str(caught.value)
    assert "Hint: this app has stopped" in str(caught.value)
    newer.release()
    older.release()


def test_symbolic_link_in_place_of_lock_file_is_rejected(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("precious")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "lock").symlink_to(theirs)
    with pytest.raises(CheckpointMismatchError, match="is a symbolic link"):
        CheckpointLock(tmp_path / "c").acquire()
    assert theirs.read_text() == "precious"
