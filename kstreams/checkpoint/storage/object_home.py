"""A checkpoint in an object store, which needs no directory and no lock."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from kstreams.checkpoint.storage.finished_batches import NO_NOTES, DoneNotes
from kstreams.checkpoint.storage.home import Description, PlansPlace
from kstreams.checkpoint.storage.lock import NoLock
from kstreams.checkpoint.storage.object_telemetry import ObjectTelemetry
from kstreams.errors import FencedError, ObjectMissingError, StoreOpenError
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings

__all__ = ("DESCRIPTIONS", "PLANS", "ObjectHome")

PLANS = "plans/"
"""The prefix of all plans."""
DESCRIPTIONS = "description/"
"""The prefix of all descriptions."""
_DESCRIPTION = re.compile(r"description/(\d{20})\.json")
_FORKING = "fork.json"
_PAUSED = "paused.json"
_PARTS = ("commits/", "savepoints/", _FORKING)


@dataclass(frozen=True)
class ObjectHome:
    """A checkpoint below a prefix of an object store, including the durable log.

    All objects are written once with a conditional create: one of two drivers succeeds, and the
    other detects it. `description/<revision>.json` describes the app, and the newest one counts;
    `plans/<epoch>/` has the plans of a query. Spark's own notes are not stored.

    Args:
        settings: The settings of the storage; its prefix belongs to the app.
    """

    settings: ObjectStoreSettings

    def __str__(self) -> str:
        return str(getattr(self.settings, "place", self.settings))

    @property
    def log(self) -> ObjectStoreSettings:
        """The same storage."""
        return self.settings

    @property
    def directory(self) -> None:
        """There is none."""
        return

    @property
    def named(self) -> ObjectStoreSettings:
        """The settings."""
        return self.settings

    @cached_property
    def objects(self) -> ObjectStore:
        """The storage, opened once a process."""
        return self.settings.open()

    def __getstate__(self) -> dict[str, object]:
        return {"settings": self.settings}

    @property
    def takes_over(self) -> bool:
        """There is no lock: a new driver takes over."""
        return True

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

    def lock(self) -> NoLock:
        """Return nothing that excludes: a new driver takes over from an older one."""
        return NoLock()

    def stamp(self) -> str:
        """Return the name of the newest description."""
        names = self._descriptions()
        return names[-1] if names else ""

    def description(self) -> Description | None:
        """Return the newest description."""
        while names := self._descriptions():
            try:
                data = self.objects.get(names[-1])
            except ObjectMissingError:  # a reset is under way
                continue
            return Description(names[-1], data, int(names[-1][len(DESCRIPTIONS) : -len(".json")]))
        return None

    def description_name(self, revision: int) -> str:
        """Return the name of a revision's object."""
        return f"{DESCRIPTIONS}{revision:020d}.json"

    def describe(self, revision: int, data: bytes) -> None:
        """Create the object of a revision.

        Raises:
            FencedError: Another driver has written this revision.
        """
        name = self.description_name(revision)
        if not self.objects.put_if_absent(name, data) and self.objects.get(name) != data:
            raise FencedError(
                f"checkpoint {self} was begun or upgraded by another driver meanwhile",
                hint="this start changed nothing: start again, with one app per checkpoint.",
            )

    def remains(self) -> tuple[str, ...]:
        """Return the names of the parts of a checkpoint that are there, the description apart."""
        found = (part for part in _PARTS if next(iter(self.objects.list(part)), None) is not None)
        return tuple(part.rstrip("/") for part in found)

    def remove_drafts(self) -> None:
        """Do nothing: an object is there whole or not at all."""

    def fork_note(self) -> bytes | None:
        """Return which incarnation a fork was making."""
        try:
            return self.objects.get(_FORKING)
        except ObjectMissingError:
            return None

    def note_fork(self, data: bytes) -> None:
        """Write down which incarnation a fork is making.

        Raises:
            FencedError: Another fork is being made there.
        """
        if not self.objects.put_if_absent(_FORKING, data):
            raise FencedError(
                f"another fork to {self} is being made",
                hint="wait for it, or fork to another place.",
            )

    def forget_fork(self) -> None:
        """Remove that again."""
        self.objects.delete([_FORKING])

    def pause_note(self) -> bytes | None:
        """Return who has paused the app, and why."""
        try:
            return self.objects.get(_PAUSED)
        except ObjectMissingError:
            return None

    def note_pause(self, data: bytes) -> None:
        """Write that down, unless it is paused already."""
        self.objects.put_if_absent(_PAUSED, data)

    def forget_pause(self) -> None:
        """Remove that again."""
        self.objects.delete([_PAUSED])

    def telemetry(self) -> ObjectTelemetry:
        """Return the objects below `telemetry/`."""
        return ObjectTelemetry(self.objects)

    def plans(self, query: str, generation: int, line: str) -> PlansPlace:
        """Return the prefix of a query's plans; the line names generation and query."""
        return PlansPlace(self.objects, f"{PLANS}{line}/")

    def done_notes(self, query: str, generation: int) -> DoneNotes:
        """Return none: each would be a trip to the storage."""
        return NO_NOTES

    def _descriptions(self) -> list[str]:
        return [name for name in self.objects.list(DESCRIPTIONS) if _DESCRIPTION.fullmatch(name)]
