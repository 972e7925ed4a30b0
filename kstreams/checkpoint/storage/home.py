"""The storage of a checkpoint: the common interface of directories and object stores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from kstreams.checkpoint.storage.finished_batches import DoneNotes
from kstreams.checkpoint.storage.lock import Exclusion
from kstreams.checkpoint.storage.telemetry_files import TelemetryFiles
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings

__all__ = ("FORK_NOTE", "PAUSE_NOTE", "CheckpointHome", "Description", "PlansPlace")

FORK_NOTE = "fork.json"
"""The name of the note of an unfinished fork."""
PAUSE_NOTE = "paused.json"
"""The name of the note of a paused app."""


@dataclass(frozen=True)
class Description:
    """The app description of a checkpoint, as stored: a JSON document, see `Checkpoint`.

    The document is the file `app.json` in a directory, or the object `description/<revision>.json`
    in an object store.

    Attributes:
        name: The name of the document, which its checksum covers.
        data: The content of the document.
        revision: The revision number; the next saved document has the next number.
    """

    name: str
    data: bytes
    revision: int


@dataclass(frozen=True)
class PlansPlace:
    """The location of a query's plans.

    Attributes:
        objects: The object store.
        prefix: The prefix of the names.
    """

    objects: ObjectStore
    prefix: str


class CheckpointHome(ABC):
    """The storage of one app's checkpoint: small and picklable, without secrets in its `repr`.

    Each document is written atomically.
    """

    @property
    @abstractmethod
    def log(self) -> ObjectStoreSettings:
        """The durable log in the checkpoint, for backends without a log of their own."""

    @property
    @abstractmethod
    def directory(self) -> Path | None:
        """The directory of the checkpoint; None for an object store."""

    @property
    @abstractmethod
    def named(self) -> Path | ObjectStoreSettings:
        """The directory or settings that users pass to name the checkpoint."""

    @property
    @abstractmethod
    def takes_over(self) -> bool:
        """Return whether a new driver takes over from an older one instead of being rejected."""

    def prove(self) -> None:  # noqa: B027  # optional
        """Test the guarantees that a checkpoint needs; by default, there is nothing to test.

        Raises:
            StoreOpenError: The storage lacks a guarantee.
        """

    @abstractmethod
    def lock(self) -> Exclusion:
        """Return the lock that rejects a second driver; it is not acquired yet."""

    @abstractmethod
    def stamp(self) -> str:
        """Return a text that changes whenever the app description is written; empty without one."""

    @abstractmethod
    def description(self) -> Description | None:
        """Return the newest app description; None if the storage has none."""

    @abstractmethod
    def description_name(self, revision: int) -> str:
        """Return the name of the file or object with a revision of the app description.

        The checksum in the document also covers this name.
        """

    @abstractmethod
    def describe(self, revision: int, data: bytes) -> None:
        """Write a revision of the app description.

        Args:
            revision: The revision number.
            data: The content of the document.

        Raises:
            FencedError: Another driver has written this revision.
        """

    @abstractmethod
    def remains(self) -> tuple[str, ...]:
        """Return the names of existing parts of a checkpoint, other than the app description."""

    def remove_drafts(self) -> None:  # noqa: B027  # optional
        """Remove unfinished files of killed writers, under the lock; by default, there are none."""

    def fork_note(self) -> bytes | None:
        """Return the note with the checkpoint id of an unfinished fork; None without one."""
        return self._read(FORK_NOTE)

    @abstractmethod
    def note_fork(self, data: bytes) -> None:
        """Write the note of an unfinished fork, with the fork's checkpoint id.

        Raises:
            FencedError: Another fork to this storage is running.
        """

    def forget_fork(self) -> None:
        """Remove the note of a fork."""
        self._remove(FORK_NOTE)

    def pause_note(self) -> bytes | None:
        """Return the note with author and reason of a pause; None if the app is not paused."""
        return self._read(PAUSE_NOTE)

    def note_pause(self, data: bytes) -> None:
        """Write the note of a pause, unless the app is paused already."""
        self._create(PAUSE_NOTE, data)

    def forget_pause(self) -> None:
        """Remove the note of a pause."""
        self._remove(PAUSE_NOTE)

    @abstractmethod
    def telemetry(self) -> TelemetryFiles:
        """Return the telemetry files of the app."""

    @abstractmethod
    def plans(self, query: str, epoch_number: int, log_name: str) -> PlansPlace:
        """Return the location of a query's plans.

        Args:
            query: Name of the query.
            epoch_number: The number of the query's epoch.
            log_name: A unique name of checkpoint id, query and epoch.
        """

    @abstractmethod
    def done_notes(self, query: str, epoch_number: int) -> DoneNotes:
        """Return the storage of the note that names the last finished batch of a query.

        Args:
            query: Name of the query.
            epoch_number: The number of the query's epoch.
        """

    @abstractmethod
    def _read(self, name: str) -> bytes | None:
        """Return a note; None without one."""

    @abstractmethod
    def _create(self, name: str, data: bytes) -> bool:
        """Write a note, unless it exists; return whether it was written."""

    @abstractmethod
    def _remove(self, name: str) -> None:
        """Remove a note, if it exists."""
