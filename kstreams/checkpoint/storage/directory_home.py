"""A checkpoint in a directory, with a lock so that only one driver uses it."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from typing_extensions import override

from kstreams.checkpoint.storage.directory_telemetry import DirectoryTelemetry
from kstreams.checkpoint.storage.finished_batches import DoneNotes
from kstreams.checkpoint.storage.home import (
    FORK_NOTE,
    PAUSE_NOTE,
    CheckpointHome,
    Description,
    PlansPlace,
)
from kstreams.checkpoint.storage.lock import CheckpointLock
from kstreams.checkpoint.storage.telemetry_files import FOLDER
from kstreams.errors import StateCorruptError
from kstreams.files import read_small, write_new
from kstreams.names import is_path_below, path_step
from kstreams.state.log.directory import Directory, DirectoryObjectStore

__all__ = ("DESCRIPTION", "ENTRIES", "DirectoryHome")

DESCRIPTION = "app.json"
"""The file with the app description (see `Checkpoint`), which is replaced atomically."""
_MOST_BYTES = 64 * 1024 * 1024
_NO_DOCUMENT = (errno.EISDIR, errno.EINVAL, errno.EFBIG, errno.ELOOP)
_PARTS = ("queries", "generations", "state", "plans", "spark", FORK_NOTE)
ENTRIES = frozenset(
    {DESCRIPTION, FOLDER, FORK_NOTE, PAUSE_NOTE, "generations", "lock", "queries", "state"}
)
"""The names of all entries that an app creates in its checkpoint directory."""


@dataclass(frozen=True)
class DirectoryHome(CheckpointHome):
    """A checkpoint directory.

    `app.json` is the app description: JSON with the fields of `Checkpoint`. `state/` has deltas,
    snapshots and commits; `queries/<name>/` has the plans of a query and the note of its last
    batch. A query with a new epoch after an upgrade is in `generations/<number>/<name>/`.
    `telemetry/` has telemetry files, which may be removed.

    Args:
        path: The directory, absolute.
    """

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    @override
    def log(self) -> Directory:
        return Directory(str(self.path / "state"))

    @property
    @override
    def directory(self) -> Path:
        """The directory of the checkpoint."""
        return self.path

    @property
    @override
    def named(self) -> Path:
        """The directory of the checkpoint, which users pass to name the checkpoint."""
        return self.path

    @property
    @override
    def takes_over(self) -> bool:
        """False: the lock rejects a new driver."""
        return False

    @override
    def lock(self) -> CheckpointLock:
        """Return the lock of the directory."""
        return CheckpointLock(self.path)

    @override
    def stamp(self) -> str:
        """Return inode and modification time of `app.json`; empty without the file."""
        try:
            found = os.stat(self.path / DESCRIPTION)  # noqa: PTH116  # asked for at every read
        except (FileNotFoundError, NotADirectoryError):
            return ""
        return f"{found.st_ino} {found.st_mtime_ns}"

    @override
    def description(self) -> Description | None:
        """Return the content of `app.json`, with revision 0; None without the file."""
        data = self._read(DESCRIPTION)
        return None if data is None else Description(DESCRIPTION, data, 0)

    @override
    def description_name(self, revision: int) -> str:  # it has none
        """Return `app.json`."""
        return DESCRIPTION

    @override
    def describe(self, revision: int, data: bytes) -> None:  # it has none
        """Replace `app.json`; the caller must hold the lock."""
        self._write(DESCRIPTION, data)

    @override
    def remains(self) -> tuple[str, ...]:
        return tuple(name for name in _PARTS if (self.path / name).exists())

    @override
    def remove_drafts(self) -> None:
        """Remove temporary files of interrupted writes."""
        for draft in self.path.glob(".app-*.json"):
            draft.unlink(missing_ok=True)

    @override
    def note_fork(self, data: bytes) -> None:
        """Write `fork.json`; the caller must hold the lock."""
        self._write(FORK_NOTE, data)

    @override
    def telemetry(self) -> DirectoryTelemetry:
        """Return the telemetry files in the folder `telemetry`."""
        return DirectoryTelemetry(self.path / FOLDER)

    @override
    def plans(self, query: str, epoch_number: int, log_name: str) -> PlansPlace:
        """Return the folder of a query's plans, whose path contains epoch number and query."""
        folder = self.query(query, epoch_number) / "plans"
        # The commit that follows brings the name to the disk too: a wait less in each batch.
        return PlansPlace(DirectoryObjectStore(folder, sync_names=False), "")

    @override
    def done_notes(self, query: str, epoch_number: int) -> DoneNotes:
        """Return the notes of finished batches, in the folder `done`.

        Earlier library versions used Spark's own notes.
        """
        folder = self.query(query, epoch_number)
        return DoneNotes(folder / "done", folder / "spark" / "commits")

    def query(self, query: str, epoch_number: int) -> Path:
        """Return a query's directory."""
        root = self.path / ("generations" if epoch_number else "queries")
        root = root / str(epoch_number) if epoch_number else root
        step = path_step(query)
        if step != query and is_path_below(query) and (root / query / "plans").is_dir():
            return root / query  # made before such names were quoted
        return root / step

    @override
    def _create(self, name: str, data: bytes) -> bool:
        if self._read(name) is not None:
            return False
        self._write(name, data)
        return True

    @override
    def _remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    @override
    def _read(self, name: str) -> bytes | None:
        """Return the bytes of a document; None without one.

        Raises:
            StateCorruptError: The path is not a file, or the file is too large.
        """
        try:
            return read_small(self.path / name, _MOST_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as exc:
            if exc.errno not in _NO_DOCUMENT:
                raise
            raise StateCorruptError(
                f"{str(self.path / name)!r} cannot be read: {exc.strerror}",
                hint="restore the file from a copy of the checkpoint.",
            ) from exc

    def _write(self, name: str, data: bytes) -> None:
        """Create or replace a file atomically."""
        self.path.mkdir(parents=True, exist_ok=True)
        temporary = self.path / f".app-{uuid4().hex}.json"
        write_new(temporary, data, durable=True)
        temporary.replace(self.path / name)
