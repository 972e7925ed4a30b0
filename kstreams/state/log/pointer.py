"""A small value that identifies a version of a task's state, and the objects it consists of.

The driver commits all pointers of a batch together, in its commit log. Objects that no committed
pointer names are ignored, so failed, duplicate or delayed attempts do no harm, without locks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from os.path import commonprefix
from typing import Any

from kstreams.errors import StateCorruptError
from kstreams.state.backend.objects import object_name_parts
from kstreams.state.log.fields import Fields, checked_digest, checked_integer, checked_text

__all__ = ("ObjectRef", "PackPart", "Pointer", "version_id_after")

_FORMAT = 3
_WITHOUT_PACKS = 2
"""The earlier format, in which each reference is to a whole object."""
_EMPTY_VERSION_ID = "0" * 64
_NUMBERED = re.compile(r"\d{1,20}-")
_SHORT_DIGEST = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class PackPart:
    """The place of an object in a pack.

    Args:
        start: The start of the object in the pack, in bytes.
        version: The version that the object results in.
    """

    start: int
    version: int


@dataclass(frozen=True)
class ObjectRef:
    """A reference to an object in the durable log, with its checksum.

    Args:
        name: The name of the object, or of the pack that contains it.
        digest: The first 16 hex digits of the SHA-256 at the end of the object.
        size_bytes: The size of the object, in bytes.
        level: The number of times that the content has been merged; 0 for the changes of a batch.
        part: The place of the object in the pack; None if the object has its own name.
    """

    name: str
    digest: str
    size_bytes: int
    level: int = 0
    part: PackPart | None = None

    def __str__(self) -> str:
        """Return the name of the object; for a part of a pack, also where it starts."""
        return self.name if self.part is None else f"{self.name} from byte {self.part.start}"

    @property
    def version(self) -> int:
        """Return the version that a delta results in.

        The name of a delta begins with this number, except that of a part of a pack.
        """
        if self.part is not None:
            return self.part.version
        return int(self.name.rpartition("/")[2].partition("-")[0])


@dataclass(frozen=True)
class Pointer:
    """One version of a task's state: a snapshot, then deltas in order.

    Args:
        version: The number of commits that changed the state.
        version_id: The SHA-256 over the chain of all changes, hex; unique to an attempt.
        snapshot: The chunks of the newest snapshot, ordered by store and key.
        deltas: The changes since the snapshot, oldest first.
        stores: Every store that the state has ever had, sorted.
        meta: The state of the task besides its stores (next offsets, stream time, punctuators): a
            JSON object, opaque here.
        base: The version of the snapshot; 0 without one.
        base_version_id: The version id of the snapshot; empty if it is not recorded.
    """

    version: int
    version_id: str
    snapshot: tuple[ObjectRef, ...] = ()
    deltas: tuple[ObjectRef, ...] = ()
    stores: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    base: int = 0
    base_version_id: str = ""

    @classmethod
    def empty(cls, meta: Mapping[str, Any] | None = None) -> Pointer:
        """Return the pointer of a task that has no state yet."""
        return cls(
            version=0,
            version_id=_EMPTY_VERSION_ID,
            meta=dict(meta or {}),
            base_version_id=_EMPTY_VERSION_ID,
        )

    @property
    def snapshot_bytes(self) -> int:
        """Return the size of the snapshot's objects, in bytes."""
        return sum(ref.size_bytes for ref in self.snapshot)

    @property
    def delta_bytes(self) -> int:
        """Return the size of the deltas' objects, in bytes."""
        return sum(ref.size_bytes for ref in self.deltas)

    def objects(self) -> tuple[ObjectRef, ...]:
        """Return all objects of the version, in the order in which a restore applies them."""
        return (*self.snapshot, *self.deltas)

    def with_meta(self, meta: Mapping[str, Any]) -> Pointer:
        """Return a pointer to the same state with another `meta`."""
        return replace(self, meta=dict(meta))

    def with_delta(self, delta: ObjectRef, digest: bytes, stores: tuple[str, ...]) -> Pointer:
        """Return the next version after a delta; `digest` is the delta's full SHA-256.

        `stores` are the stores that the delta changes.
        """
        return replace(
            self,
            version=self.version + 1,
            version_id=version_id_after(self.version_id, digest),
            deltas=(*self.deltas, delta),
            stores=tuple(sorted({*self.stores, *stores})),
        )

    def with_snapshot(
        self, chunks: tuple[ObjectRef, ...], base: int | None = None, version_id: str = ""
    ) -> Pointer:
        """Return this version as a snapshot and the deltas after the snapshot.

        Args:
            chunks: The snapshot.
            base: The version of the snapshot, an ancestor of this version; this version by default.
            version_id: The version id of `base`.
        """
        if base is None:
            base, version_id = self.version, self.version_id
        deltas = self.deltas_after(base)
        return replace(self, snapshot=chunks, deltas=deltas, base=base, base_version_id=version_id)

    def deltas_after(self, version: int) -> tuple[ObjectRef, ...]:
        """Return the deltas after an earlier version of this state, which is `base` or later.

        A merged delta may contain changes up to that version, too; applying it is still correct,
        because it has the last values.
        """
        return tuple(ref for ref in self.deltas if ref.version > version)

    def with_merged(self, parts: tuple[ObjectRef, ...], merged: ObjectRef) -> Pointer:
        """Return this version with consecutive deltas replaced by their merged delta.

        Returns this pointer unchanged if it no longer contains the deltas.
        """
        start = self.deltas.index(parts[0]) if parts[0] in self.deltas else 0
        end = start + len(parts)
        if self.deltas[start:end] != parts:
            return self
        return replace(self, deltas=(*self.deltas[:start], merged, *self.deltas[end:]))

    def to_json(self) -> str:
        """Return compact JSON: about 70 characters per object, in addition to `meta`."""
        base = commonprefix([ref.name for ref in self.objects()])  # noqa: RUF071 - of characters
        content: dict[str, Any] = {
            "f": _FORMAT,
            "v": self.version,
            "l": self.version_id,
            "b": base,
            "c": [_ref_to_list(ref, base) for ref in self.snapshot],
            "d": [_ref_to_list(ref, base) for ref in self.deltas],
            "s": self.stores,
            "m": self.meta,
            "n": self.base,
            "o": self.base_version_id,
        }
        return json.dumps(content, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Pointer:
        """Return the pointer that `to_json` wrote.

        Raises:
            StateCorruptError: The text is not a pointer, or has another format.
        """
        try:
            fields = Fields(json.loads(text))
            if fields.integer("f") not in (_WITHOUT_PACKS, _FORMAT):
                raise StateCorruptError(
                    f"the state pointer has format {fields.integer('f')}, but this version of the "
                    f"library reads formats {_WITHOUT_PACKS} and {_FORMAT}",
                    hint="A later version of the library wrote the pointer: run that version.",
                )
            base = fields.text("b")
            return cls(
                version=fields.integer("v"),
                version_id=checked_digest(fields.text("l"), "the version id"),
                snapshot=tuple(_ref_from_list(ref, base) for ref in fields.items("c")),
                deltas=tuple(_ref_from_list(ref, base, "delta") for ref in fields.items("d")),
                stores=tuple(checked_text(store, "a store") for store in fields.items("s")),
                meta=fields.mapping("m"),
                base=fields.integer("n"),
                base_version_id=fields.text("o", "" if fields.integer("n") else _EMPTY_VERSION_ID),
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise StateCorruptError(
                f"cannot read the state pointer {text[:80]!r}: {error!r}",
                hint="The checkpoint is damaged: restore a copy of it, or start from a savepoint.",
            ) from error


def version_id_after(version_id: str, digest: bytes) -> str:
    """Return the next version id (hex) after a delta with this SHA-256."""
    return sha256(bytes.fromhex(version_id) + digest).hexdigest()


def _ref_to_list(ref: ObjectRef, base: str) -> list[str | int]:
    part = () if ref.part is None else (ref.part.start, ref.part.version)
    return [ref.name[len(base) :], ref.digest, ref.size_bytes, ref.level, *part]


def _ref_from_list(content: object, base: str, kind: str = "") -> ObjectRef:
    if not isinstance(content, list) or len(content) not in (4, 6):  # as written above
        raise ValueError(
            "expected name, digest, size and level of an object, and for a part of a pack its "
            f"start and version, got {content!r}"
        )
    suffix, digest, size_bytes, level, *place = content
    name = base + checked_text(suffix, "the name of an object")
    *_, last = object_name_parts(name)
    if kind == "delta" and not _NUMBERED.match(last):
        raise ValueError(f"object name {name!r} is not that of a delta, such as '12-...'")
    if not _SHORT_DIGEST.fullmatch(checked_text(digest, "a digest")):
        raise ValueError(f"expected a digest of 16 hex digits, got {digest!r}")
    return ObjectRef(
        name,
        digest,
        checked_integer(size_bytes, "a size"),
        checked_integer(level, "a level"),
        PackPart(*(checked_integer(number, "a place in a pack") for number in place))
        if place
        else None,
    )
