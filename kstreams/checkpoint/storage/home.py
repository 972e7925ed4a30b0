"""The home of a checkpoint: the common interface of directories and object stores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kstreams.checkpoint.storage.finished_batches import DoneNotes
from kstreams.checkpoint.storage.lock import Exclusion
from kstreams.checkpoint.storage.telemetry_files import TelemetryFiles
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings

__all__ = ("CheckpointHome", "Description", "PlansPlace")


@dataclass(frozen=True)
class Description:
    """The description of a checkpoint, as read.

    Attributes:
        name: The name of the document, which is part of its seal.
        data: The bytes.
        revision: The revision; the next written description has the next one.
    """

    name: str
    data: bytes
    revision: int


@dataclass(frozen=True)
class PlansPlace:
    """The place of a query's plans.

    Attributes:
        objects: The object store.
        prefix: The prefix of the names.
    """

    objects: ObjectStore
    prefix: str


class CheckpointHome(Protocol):
    """A place for one app's checkpoint; small and picklable, its text shows no secrets.

    All that is written there is whole or not there at all.
    """

    @property
    def log(self) -> ObjectStoreSettings:
        """The durable log for backends that bring none of their own."""
        ...

    @property
    def directory(self) -> Path | None:
        """The directory that it is; None where no machine needs to see one."""
        ...

    @property
    def named(self) -> Path | ObjectStoreSettings:
        """The user's name of the checkpoint."""
        ...

    @property
    def takes_over(self) -> bool:
        """Return whether a new driver takes over from an older one instead of being rejected."""
        ...

    def prove(self) -> None:
        """Test the guarantees that a checkpoint needs.

        Raises:
            StoreOpenError: The storage lacks a guarantee.
        """
        ...

    def lock(self) -> Exclusion:
        """Return the lock against a second driver, not acquired."""
        ...

    def stamp(self) -> str:
        """Return a text that changes with each written description; empty without one."""
        ...

    def description(self) -> Description | None:
        """Return the newest description; None before the first."""
        ...

    def description_name(self, revision: int) -> str:
        """Return the name that a description is sealed with."""
        ...

    def describe(self, revision: int, data: bytes) -> None:
        """Write a description down, in one step.

        Raises:
            FencedError: Another driver has written this revision.
        """
        ...

    def remains(self) -> tuple[str, ...]:
        """Return the names of the parts of a checkpoint that are there, the description apart."""
        ...

    def remove_drafts(self) -> None:
        """Remove what writers have left that were killed; to be called under the lock."""
        ...

    def fork_note(self) -> bytes | None:
        """Return which incarnation a fork was making; None where none was cut short."""
        ...

    def note_fork(self, data: bytes) -> None:
        """Write down which incarnation a fork is making."""
        ...

    def forget_fork(self) -> None:
        """Remove that again."""
        ...

    def pause_note(self) -> bytes | None:
        """Return who has paused the app, and why; None where it is not paused."""
        ...

    def note_pause(self, data: bytes) -> None:
        """Write that down, unless it is paused already."""
        ...

    def forget_pause(self) -> None:
        """Remove that again."""
        ...

    def telemetry(self) -> TelemetryFiles:
        """Return the telemetry files of the app."""
        ...

    def plans(self, query: str, generation: int, line: str) -> PlansPlace:
        """Return where the plans of a generation of a query are.

        Args:
            query: Name of the query.
            generation: Number of the generation.
            line: Names both, and the incarnation, as nothing else is named.
        """
        ...

    def done_notes(self, query: str, generation: int) -> DoneNotes:
        """Return the notes of which batch of a query was done last."""
        ...
