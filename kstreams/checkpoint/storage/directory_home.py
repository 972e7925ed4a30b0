"""A checkpoint in a directory, which the driver alone holds by a lock."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from kstreams.checkpoint.storage.directory_telemetry import DirectoryTelemetry
from kstreams.checkpoint.storage.finished_batches import DoneNotes
from kstreams.checkpoint.storage.home import Description, PlansPlace
from kstreams.checkpoint.storage.lock import CheckpointLock
from kstreams.checkpoint.storage.telemetry_files import FOLDER
from kstreams.errors import StateCorruptError
from kstreams.files import read_small, write_new
from kstreams.names import is_path_below, path_step
from kstreams.state.log.directory import Directory, DirectoryObjectStore

__all__ = ("DESCRIPTION", "ENTRIES", "DirectoryHome")

DESCRIPTION = "app.json"
"""The file with the description of the app, which is replaced atomically."""
_FORKING = "fork.json"
_PAUSED = "paused.json"
_MOST_BYTES = 64 * 1024 * 1024
_NO_DOCUMENT = (errno.EISDIR, errno.EINVAL, errno.EFBIG, errno.ELOOP)
_PARTS = ("queries", "generations", "state", "plans", "spark", _FORKING)
ENTRIES = frozenset(
    {DESCRIPTION, FOLDER, _FORKING, _PAUSED, "generations", "lock", "queries", "state"}
)
"""All that an app keeps in its checkpoint directory; anything else there is not its own."""


@dataclass(frozen=True)
class DirectoryHome:
    """A checkpoint directory.

    `app.json` describes the app; `state/` has deltas, snapshots and commits; `queries/<name>/` has
    the plans of a query and the note of its last batch. A query with a new epoch after an upgrade
    is in `generations/<number>/<name>/`. `telemetry/` has telemetry files, which may be removed.

    Args:
        path: The directory, absolute.
    """

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def log(self) -> Directory:
        """The durable log for backends that bring none of their own."""
        return Directory(str(self.path / "state"))

    @property
    def directory(self) -> Path:
        """The directory."""
        return self.path

    @property
    def named(self) -> Path:
        """The directory."""
        return self.path

    @property
    def takes_over(self) -> bool:
        """The lock keeps a new driver away."""
        return False

    def prove(self) -> None:
        """Do nothing: the lock is tried by taking it."""

    def lock(self) -> CheckpointLock:
        """Return the lock of the directory."""
        return CheckpointLock(self.path)

    def stamp(self) -> str:
        """Return inode and time of the description."""
        try:
            found = os.stat(self.path / DESCRIPTION)  # noqa: PTH116  # asked for at every read
        except (FileNotFoundError, NotADirectoryError):
            return ""
        return f"{found.st_ino} {found.st_mtime_ns}"

    def description(self) -> Description | None:
        """Return the content of `app.json`, which has no revisions."""
        data = self._document(DESCRIPTION)
        return None if data is None else Description(DESCRIPTION, data, 0)

    def description_name(self, revision: int) -> str:  # it has none
        """Return `app.json`."""
        return DESCRIPTION

    def describe(self, revision: int, data: bytes) -> None:  # it has none
        """Replace `app.json`; for one who holds the lock."""
        self._write(DESCRIPTION, data)

    def remains(self) -> tuple[str, ...]:
        """Return the names of the parts of a checkpoint that are there, the description apart."""
        return tuple(name for name in _PARTS if (self.path / name).exists())

    def remove_drafts(self) -> None:
        """Remove files that were not put in their place."""
        for draft in self.path.glob(".app-*.json"):
            draft.unlink(missing_ok=True)

    def fork_note(self) -> bytes | None:
        """Return the content of `fork.json`."""
        return self._document(_FORKING)

    def note_fork(self, data: bytes) -> None:
        """Write `fork.json`."""
        self._write(_FORKING, data)

    def forget_fork(self) -> None:
        """Remove `fork.json`."""
        (self.path / _FORKING).unlink(missing_ok=True)

    def pause_note(self) -> bytes | None:
        """Return the content of `paused.json`."""
        return self._document(_PAUSED)

    def note_pause(self, data: bytes) -> None:
        """Write `paused.json`, unless it is there."""
        if self.pause_note() is None:
            self._write(_PAUSED, data)

    def forget_pause(self) -> None:
        """Remove `paused.json`."""
        (self.path / _PAUSED).unlink(missing_ok=True)

    def _document(self, name: str) -> bytes | None:
        """Return the bytes of a document, if it is there.

        Raises:
            StateCorruptError: It is no file, or larger than any that is written.
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
                hint="restore it from a copy of the checkpoint.",
            ) from exc

    def telemetry(self) -> DirectoryTelemetry:
        """Return the folder `telemetry`."""
        return DirectoryTelemetry(self.path / FOLDER)

    def plans(self, query: str, generation: int, line: str) -> PlansPlace:
        """Return the folder of a query's plans; its path names generation and query."""
        folder = self.query(query, generation) / "plans"
        # The commit that follows brings the name to the disk too: a wait less in each batch.
        return PlansPlace(DirectoryObjectStore(folder, sync_names=False), "")

    def done_notes(self, query: str, generation: int) -> DoneNotes:
        """Return the notes in the folder `done`; older ones were Spark's."""
        folder = self.query(query, generation)
        return DoneNotes(folder / "done", folder / "spark" / "commits")

    def query(self, query: str, generation: int) -> Path:
        """Return a query's directory."""
        root = self.path / ("generations" if generation else "queries")
        root = root / str(generation) if generation else root
        step = path_step(query)
        if step != query and is_path_below(query) and (root / query / "plans").is_dir():
            return root / query  # made before such names were quoted
        return root / step

    def _write(self, name: str, data: bytes) -> None:
        """Put a file in its place, in one step, whether there is one or not."""
        self.path.mkdir(parents=True, exist_ok=True)
        temporary = self.path / f".app-{uuid4().hex}.json"
        write_new(temporary, data, durable=True)
        temporary.replace(self.path / name)
