"""The lock of a checkpoint for one app, which ends with its process, even if that is killed.

On a file system without locks, two apps can both acquire it. The newer app then writes its
name to the file; the older app detects this and is fenced.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
from pathlib import Path
from typing import IO, Protocol
from uuid import uuid4

from kstreams.errors import AppLockedError, CheckpointMismatchError, FencedError

__all__ = ("CheckpointLock", "Exclusion", "NoLock")


class Exclusion(Protocol):
    """Keeps a second driver from using a checkpoint, or detects a second driver."""

    def acquire(self) -> None:
        """Acquire the checkpoint for this driver.

        Raises:
            AppLockedError: Another app uses the checkpoint.
        """
        ...

    def check(self) -> None:
        """Check that no other app has acquired the checkpoint since `acquire`.

        Raises:
            FencedError: Another app has acquired the checkpoint.
        """
        ...

    def release(self) -> None:
        """Release the checkpoint; a second call does nothing."""
        ...


class NoLock:
    """No lock: of two drivers, the older driver fails when it writes a plan that exists."""

    def acquire(self) -> None:
        """Do nothing."""

    def check(self) -> None:
        """Do nothing: the write of a plan detects another driver."""

    def release(self) -> None:
        """Do nothing."""


class CheckpointLock:
    """An exclusive lock on a checkpoint directory, held by this process until `release`.

    The kernel releases the lock when the process ends, even if it is killed.

    Args:
        checkpoint: The directory; created if it is missing.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._path = checkpoint / "lock"
        self._file: IO[str] | None = None
        self._owner = ""

    def acquire(self) -> None:
        """Acquire the lock.

        Raises:
            AppLockedError: Another process, or another app of this process, holds the lock.
            CheckpointMismatchError: The lock file is a symbolic link.
        """
        file = self._opened()
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            while not self._is(file):  # a reset has moved the file away in between
                file.close()
                file = self._opened()
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            file.seek(0)
            owner = file.read() or "unknown"
            file.close()
            raise AppLockedError(
                f"checkpoint {str(self._path.parent)!r} is in use by another app ({owner})",
                owner=owner,
                hint="stop that app, or give this one its own app_id or checkpoint.",
            ) from exc
        file.seek(0)
        file.truncate()
        run = uuid4().hex[:12]
        self._owner = json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "run": run})
        file.write(self._owner)
        file.flush()
        self._file = file

    def check(self) -> None:
        """Check that no other app has acquired the lock since `acquire`.

        Raises:
            FencedError: Another app has acquired the lock, or the checkpoint was moved away.
        """
        try:
            owner = self._path.read_text()
        except FileNotFoundError:
            owner = ""
        if owner != self._owner:
            raise FencedError(
                f"checkpoint {str(self._path.parent)!r} was taken over by another app "
                f"({owner or 'unknown'})",
                hint="this app has stopped and lost nothing: use the other app, or stop it before "
                "you start this app again.",
            )

    def _opened(self) -> IO[str]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return open(self._path, "a+", opener=_without_links)
        except OSError as exc:
            if exc.errno != errno.ELOOP:
                raise
            raise CheckpointMismatchError(
                f"the lock file {self._path} is a symbolic link, which no app creates",
                hint="nothing was changed; check the target of the link, and remove the link.",
            ) from exc

    def _is(self, file: IO[str]) -> bool:
        try:
            return os.path.samestat(os.fstat(file.fileno()), self._path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _without_links(path: str, flags: int) -> int:
    """Open the lock file without following symbolic links; return its file descriptor."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)
