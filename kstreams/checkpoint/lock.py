"""One app a checkpoint: a lock that a killed process cannot leave behind."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from pathlib import Path
from typing import IO

from kstreams.errors import AppLockedError

__all__ = ("CheckpointLock",)


class CheckpointLock:
    """An exclusive lock on a checkpoint directory, held by this process until released.

    The kernel lets go of it when the process ends, however it ends.

    Args:
        checkpoint: The directory; made if it is missing.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._path = checkpoint / "lock"
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            AppLockedError: Another process, or another app of this one, holds it.
        """
        file = self._opened()
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            while not self._is(file):  # a reset has moved the file away meanwhile
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
                hint="stop that app, or give this one its own app_id or checkpoint",
            ) from exc
        file.seek(0)
        file.truncate()
        file.write(json.dumps({"host": socket.gethostname(), "pid": os.getpid()}))
        file.flush()
        self._file = file

    def _opened(self) -> IO[str]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return self._path.open("a+")

    def _is(self, file: IO[str]) -> bool:
        try:
            return os.path.samestat(os.fstat(file.fileno()), self._path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Let go; a second call does nothing."""
        if self._file is not None:
            self._file.close()
            self._file = None
