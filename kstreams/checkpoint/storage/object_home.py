"""A checkpoint in an object store, without a directory and without a lock."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from typing_extensions import override

from kstreams.checkpoint.storage.finished_batches import NO_NOTES, DoneNotes
from kstreams.checkpoint.storage.home import FORK_NOTE, CheckpointHome, Description, PlansPlace
from kstreams.checkpoint.storage.lock import NoLock
from kstreams.checkpoint.storage.object_telemetry import ObjectTelemetry
from kstreams.errors import FencedError, ObjectMissingError, StoreOpenError
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings

__all__ = ("DESCRIPTIONS", "PLANS", "ObjectHome")

PLANS = "plans/"
"""The prefix of all plans."""
DESCRIPTIONS = "description/"
"""The name prefix of the app descriptions, one object for each revision."""
_DESCRIPTION = re.compile(r"description/(\d{20})\.json")
_PARTS = ("commits/", "savepoints/", FORK_NOTE)


@dataclass(frozen=True)
class ObjectHome(CheckpointHome):
    """A checkpoint below a prefix of an object store, including the durable log.

    All objects are written once with a conditional create: one of two drivers succeeds, and the
    other driver detects this. The newest `description/<revision>.json` is the app description: JSON
    with the fields of `Checkpoint`. `plans/<epoch>/` has the plans of a query. Notes of finished
    batches are not stored.

    Args:
        settings: The settings of the storage; its prefix belongs to the app.
    """

    settings: ObjectStoreSettings

    def __str__(self) -> str:
        return str(getattr(self.settings, "place", self.settings))

    @property
    @override
    def log(self) -> ObjectStoreSettings:
        """The storage of the checkpoint."""
        return self.settings

    @property
    @override
    def directory(self) -> None:
        """None, because the checkpoint is in an object store."""
        return

    @property
    @override
    def named(self) -> ObjectStoreSettings:
        """The settings of the storage."""
        return self.settings

    @cached_property
    def objects(self) -> ObjectStore:
        """The storage, opened once per process."""
        return self.settings.open()

    def __getstate__(self) -> dict[str, object]:
        return {"settings": self.settings}

    @property
    @override
    def takes_over(self) -> bool:
        """True: without a lock, a new driver takes over."""
        return True

    @override
    def prove(self) -> None:
        """Test that the storage rejects the creation of an existing object.

        Raises:
            StoreOpenError: The storage overwrites objects, so two drivers could both succeed.
        """
        found = self.description()
        if found is not None and self.objects.put_if_absent(found.name, found.data):
            raise StoreOpenError(
                f"{self} overwrites an existing object on a conditional create",
                hint="a checkpoint needs conditional writes (If-None-Match: * of S3): use storage "
                "that supports them.",
            )

    @override
    def lock(self) -> NoLock:
        """Return a lock without effect: a new driver takes over from an older driver."""
        return NoLock()

    @override
    def stamp(self) -> str:
        """Return the name of the newest `description/<revision>.json`; empty without one."""
        names = self._descriptions()
        return names[-1] if names else ""

    @override
    def description(self) -> Description | None:
        """Return the content of the newest `description/<revision>.json`; None without one."""
        while names := self._descriptions():
            try:
                data = self.objects.get(names[-1])
            except ObjectMissingError:  # a reset is under way
                continue
            return Description(names[-1], data, int(names[-1][len(DESCRIPTIONS) : -len(".json")]))
        return None

    @override
    def description_name(self, revision: int) -> str:
        """Return `description/<revision>.json`, with the revision in 20 digits."""
        return f"{DESCRIPTIONS}{revision:020d}.json"

    @override
    def describe(self, revision: int, data: bytes) -> None:
        """Create `description/<revision>.json`, the app data of the checkpoint.

        An existing object with the same content counts as created, so a retry has no effect.

        Raises:
            FencedError: Another driver has created this revision with other content.
        """
        name = self.description_name(revision)
        if not self.objects.put_if_absent(name, data) and self.objects.get(name) != data:
            raise FencedError(
                f"checkpoint {self} was created or upgraded by another driver during this start",
                hint="this start changed nothing: start again, with one app per checkpoint.",
            )

    @override
    def remains(self) -> tuple[str, ...]:
        found = (part for part in _PARTS if next(iter(self.objects.list(part)), None) is not None)
        return tuple(part.rstrip("/") for part in found)

    @override
    def note_fork(self, data: bytes) -> None:
        if not self._create(FORK_NOTE, data):
            raise FencedError(
                f"another fork to {self} is in progress",
                hint="wait for it, or fork to another place.",
            )

    @override
    def telemetry(self) -> ObjectTelemetry:
        """Return the telemetry files below `telemetry/`."""
        return ObjectTelemetry(self.objects)

    @override
    def plans(self, query: str, epoch_number: int, log_name: str) -> PlansPlace:
        """Return the prefix of a query's plans; the log name contains epoch and query."""
        return PlansPlace(self.objects, f"{PLANS}{log_name}/")

    @override
    def done_notes(self, query: str, epoch_number: int) -> DoneNotes:
        """Return `NO_NOTES`, because each note would need a request to the storage."""
        return NO_NOTES

    @override
    def _read(self, name: str) -> bytes | None:
        try:
            return self.objects.get(name)
        except ObjectMissingError:
            return None

    @override
    def _create(self, name: str, data: bytes) -> bool:
        return self.objects.put_if_absent(name, data)

    @override
    def _remove(self, name: str) -> None:
        self.objects.delete([name])

    def _descriptions(self) -> list[str]:
        return [name for name in self.objects.list(DESCRIPTIONS) if _DESCRIPTION.fullmatch(name)]
