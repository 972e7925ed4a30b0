"""Temporary directories of one process, which remain after a kill.

Each directory has a file that its process locks while it runs. The kernel releases the lock when
the process ends, so a directory without a lock can be removed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ("remove_dead_scratch", "scratch_directory")

_PREFIX = "kstreams-scratch-"
_LOCK = "lock"


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """Create a directory for this process, and remove it afterward.

    Directories of killed processes of this user are removed first.
    """
    remove_dead_scratch()
    home = Path(tempfile.mkdtemp(prefix=_PREFIX))
    draft = home / f".{_LOCK}"
    handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        draft.rename(home / _LOCK)  # locked before anybody can see it
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)
        os.close(handle)


def remove_dead_scratch() -> int:
    """Remove directories of this user whose process is dead; return the number removed."""
    return sum(map(_remove_if_dead, Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")))


def _remove_if_dead(home: Path) -> bool:
    with suppress(OSError):  # another's, a link, alive, or gone meanwhile
        if home.is_symlink() or home.stat().st_uid != os.geteuid():
            return False
        handle = os.open(home / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(home, ignore_errors=True)
        finally:
            os.close(handle)
        return True
    return False
