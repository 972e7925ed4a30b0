"""The directory of a topic view's working copies, which may outlive the process."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from weakref import finalize

from kstreams.errors import StoreOpenError
from kstreams.state.backend.working import StateBackend, StoreChanges
from kstreams.state.log.fields import Fields, checked_integer
from kstreams.views.layered_copy import WorkingCopy

__all__ = ("SavedTopic", "TopicHome")

_FORMAT = 1
_SAVED, _LOCK = "saved.json", "lock"
_MARK = "kstreams/saved"  # no name of a topic
"""The store with the id of the save, which shows that copies and positions match."""


@dataclass(frozen=True)
class SavedTopic:
    """The saved data of a topic's working copies.

    Attributes:
        topic_id: The topic id.
        schema: The schema of the copies' store.
        saved_ms: The time of the save, ms since the epoch.
        positions: The first offset that is not in the copy, by partition.
        mark: The id of the save, which each copy contains too.
    """

    topic_id: str
    schema: dict[str, str]
    saved_ms: int
    positions: dict[int, int]
    mark: str

    def to_json(self) -> bytes:
        """Return the bytes of the file that stores this data."""
        content = {
            "f": _FORMAT,
            "topic": self.topic_id,
            "schema": self.schema,
            "saved_ms": self.saved_ms,
            "positions": {str(n): offset for n, offset in self.positions.items()},
            "mark": self.mark,
        }
        return json.dumps(content).encode()

    @classmethod
    def from_json(cls, data: bytes) -> SavedTopic | None:
        """Parse the result of `to_json`; return None for bytes of another format."""
        try:
            fields = Fields(json.loads(data))
            if fields.integer("f") != _FORMAT:
                return None
            schema = {str(k): str(v) for k, v in fields.mapping("schema").items()}
            positions = {
                int(n): checked_integer(offset, "an offset")
                for n, offset in fields.mapping("positions").items()
            }
            return cls(
                fields.text("topic"),
                schema,
                fields.integer("saved_ms"),
                positions,
                fields.text("mark"),
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            return None


class TopicHome:
    """The directory of a view of a topic.

    Args:
        store: Name of the store.
        backend: The backend of the copies.
        directory: A permanent directory; None creates a temporary directory.

    Raises:
        StoreOpenError: Another view uses the directory, or the directory cannot be created.
    """

    def __init__(self, store: str, backend: StateBackend, directory: Path | None) -> None:
        self._store = store
        self._backend = backend
        self.stays = directory is not None
        self._lock = -1
        if directory is None:
            self._path = Path(tempfile.mkdtemp(prefix="kstreams-view-"))
            self._removed = finalize(self, shutil.rmtree, self._path, True)
        else:
            self._path = directory
            self._take(directory)

    def _take(self, directory: Path) -> None:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
            self._lock = os.open(directory / _LOCK, flags, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            os.close(self._lock)
            raise StoreOpenError(
                f"another view uses the directory {directory}",
                hint="give each view its own directory.",
            ) from exc
        except OSError as exc:
            raise StoreOpenError(f"a view cannot use the directory {directory}: {exc}") from exc

    def saved(self) -> SavedTopic | None:
        """Return the last save and remove it, so that a crash leaves no stale save."""
        path = self._path / _SAVED
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        path.unlink()
        return SavedTopic.from_json(data)

    def open(self, partition: int, mark: str | None) -> WorkingCopy | None:
        """Open the copy of a partition.

        Args:
            partition: The partition.
            mark: The required id of the copy's save; None creates an empty copy.

        Returns:
            The copy; None if it has another id.
        """
        place = self._path / f"partition-{partition}"
        if mark is None:
            self._backend.remove(place)
        copy = WorkingCopy(self._backend, place, self._store, _MARK)
        if mark is not None and copy.store.get(_MARK, b"") != mark.encode():
            copy.close()
            return None
        return copy

    def mark(self, copy: WorkingCopy, mark: str) -> None:
        """Write the id of a save into a copy."""
        copy.store.write({_MARK: StoreChanges([(b"", mark.encode())])})

    def save(self, saved: SavedTopic) -> None:
        """Write the file that `saved` returns; all copies must be closed."""
        path, new = self._path / _SAVED, self._path / f"{_SAVED}.new"
        new.write_bytes(saved.to_json())
        new.replace(path)

    def close(self) -> None:
        """Remove the directory if it is temporary; else release its lock."""
        if self.stays:
            os.close(self._lock)
        else:
            self._removed()
