"""Packs: one object for the small objects that a worker writes for a stage in one batch.

Object storage charges for each request, and a file system takes its time for each file. With a
thousand partitions, an object for each delta costs more than all other work of a small batch. A
pointer refers to a part of a pack by the name of the pack and a byte range. Each part is a complete
delta, merged delta or chunk, with its own header and digest: a reader needs no other part.

A pack is named after its batch. `sweep_batch_objects` deletes packs that no retained pointer names.
"""

from __future__ import annotations

from functools import partial

from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import new_attempt
from kstreams.state.log.durable import put_object, short_digest
from kstreams.state.log.pointer import ObjectRef, PackPart
from kstreams.state.log.traffic import CountedObjects, Traffic
from kstreams.state.log.uploads import ObjectUpload, Upload

__all__ = ("PACK_BYTES", "PACK_SUFFIX", "PART_BYTES", "Packs")

_MIB = 1024 * 1024
PART_BYTES = _MIB
"""The maximum size of a part; larger objects have their own name."""
PACK_BYTES = 4 * _MIB
"""The size at which a pack is uploaded while the next one is filled.

A pack stays in the log until no pointer names any of its parts.
"""
PACK_SUFFIX = ".pack"
"""The end of the names of packs."""


class Packs:
    """Writes the small objects of the tasks that one thread runs for a batch.

    Args:
        log: The durable log.
        prefix: The prefix of the packs: `packs_prefix` of an epoch.
        batch: The number of the batch.
    """

    def __init__(self, log: ObjectStore, prefix: str, batch: int) -> None:
        self._log = CountedObjects(log)
        self._name = f"{prefix}{max(batch, 0):020d}-{new_attempt()}"
        self._count = 0
        self._open: _Pack | None = None

    def add(self, data: bytes, version: int, level: int = 0) -> tuple[ObjectRef, Upload] | None:
        """Add an encoded object to the open pack; its upload begins when the caller waits for it.

        Args:
            data: The object.
            version: The version that the object results in.
            level: The number of times that the content has been merged.

        Returns:
            The reference to the object, and the upload of its pack; None if it is too large.
        """
        if len(data) > PART_BYTES:
            return None
        pack = self._open
        if pack is None or pack.begun:
            pack = self._open = _Pack(self._log, f"{self._name}-{self._count}{PACK_SUFFIX}")
            self._count += 1
        part = PackPart(pack.add(data), version)
        if pack.size_bytes >= PACK_BYTES:
            pack.begin()
        return ObjectRef(pack.name, short_digest(data), len(data), level, part), pack

    def traffic(self) -> Traffic:
        """Return the requests to the durable log since the last call."""
        return self._log.take()


class _Pack:
    """A pack that is being filled or uploaded: the bytes of its parts, and its upload."""

    def __init__(self, log: ObjectStore, name: str) -> None:
        self.name = name
        self.size_bytes = 0
        self._log = log
        self._parts: list[bytes] = []
        self._upload: ObjectUpload | None = None

    @property
    def begun(self) -> bool:
        """Whether the upload has begun, so that the pack is complete."""
        return self._upload is not None

    def add(self, data: bytes) -> int:
        """Add a part; return its start in the pack."""
        start = self.size_bytes
        self._parts.append(data)
        self.size_bytes += len(data)
        return start

    def begin(self) -> ObjectUpload:
        """Begin the upload, if it has not begun."""
        if self._upload is None:
            data = b"".join(self._parts)
            self._parts.clear()
            self._upload = ObjectUpload(partial(put_object, self._log, self.name, data))
        return self._upload

    def settle(self) -> None:
        """Wait until the pack is durable; see `Upload`."""
        self.begin().settle()

    def drop(self) -> None:
        """Do nothing: the other parts of the pack may be needed."""
