"""Keeping a pointer short and a restore quick: when deltas are merged, and snapshots made.

Deltas of like size are merged eight at a time, as a log-structured tree does, and a
snapshot is due when the deltas outweigh half of the last one. So a change is written
again a small number of times, however large the state and however small the batches.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import groupby

from kstreams.errors import StateCorruptError, StoreError
from kstreams.state.backend.working import WorkingStore
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.merging import write_merger
from kstreams.state.log.pointer import ObjectRef, Pointer
from kstreams.state.log.snapshot import CHUNK_BYTES, write_snapshot

__all__ = ("Upkeep",)

_MIB = 1024 * 1024
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Upkeep:
    """When deltas are merged and snapshots made; sizes are of compressed objects.

    Args:
        merge_count: So many deltas of one level become one of the next.
        merge_bytes: No merger of more than this, because it is done in memory.
        max_deltas: A pointer that names so many is due for a snapshot.
        snapshot_fraction: So is one whose deltas outweigh this part of its snapshot.
        floor_bytes: But not before its deltas have this size; or a quarter of it, when they
            were due for a merger that would outweigh the snapshot.
        small_bytes: A state up to this size gets a snapshot where a second merger was due.
        chunk_bytes: Size of a snapshot's chunks, before compression.

    Raises:
        ValueError: A number is out of range.
    """

    merge_count: int = 8
    merge_bytes: int = 64 * _MIB
    max_deltas: int = 64
    snapshot_fraction: float = 0.5
    floor_bytes: int = 4 * _MIB
    small_bytes: int = 4 * _MIB
    chunk_bytes: int = CHUNK_BYTES

    def __post_init__(self) -> None:
        """Reject settings that would merge forever, or never create a snapshot."""
        least = {"merge_count": 2, "max_deltas": 1, "chunk_bytes": 1}
        for field in ("merge_bytes", "snapshot_fraction", "floor_bytes", "small_bytes"):
            least[field] = 0
        for field, low in least.items():
            if getattr(self, field) < low:
                raise ValueError(f"Upkeep({field}={getattr(self, field)}): at least {low}")

    def run(
        self, log: DurableLog, pointer: Pointer, store: WorkingStore, attempt: Attempt
    ) -> Pointer:
        """Run the due upkeep, and return the pointer to use: the same version of other objects.

        Called at the end of a commit without background upkeep, with the working store at the
        pointer's version. A failure only makes restores longer, and is logged.

        Args:
            log: The durable log of the task.
            pointer: The version.
            store: The working store of the version.
            attempt: The attempt in the names of new objects.
        """
        try:
            return self._run(log, pointer, store, attempt)
        except StoreError as error:
            _LOG.warning("task %s: no snapshot this time: %s", log.task, error)
            return pointer

    def due(self, pointer: Pointer) -> bool:
        """Return whether upkeep is due."""
        return self.snapshot_due(pointer) or bool(self.merger_due(pointer))

    def snapshot_due(self, pointer: Pointer) -> bool:
        """Return whether a snapshot would make the next restore faster."""
        limit = max(self.floor_bytes, self.snapshot_fraction * pointer.snapshot_bytes)
        if len(pointer.deltas) >= self.max_deltas or pointer.delta_bytes > limit:
            return True
        parts = self.merger_due(pointer)
        if not parts:
            return False
        merged = sum(ref.size_bytes for ref in parts)
        small = pointer.snapshot_bytes + pointer.delta_bytes <= self.small_bytes
        return merged >= max(self.floor_bytes / 4, pointer.snapshot_bytes) or (
            small and parts[0].level > 0
        )

    def merger_due(self, pointer: Pointer) -> tuple[ObjectRef, ...]:
        """Return the deltas to merge next, which follow each other; the oldest that are due."""
        for _, group in groupby(pointer.deltas, key=lambda ref: ref.level):
            like = tuple(group)
            size = sum(ref.size_bytes for ref in like)
            if len(like) >= self.merge_count and size <= self.merge_bytes:
                return like
        return ()

    def _run(
        self, log: DurableLog, pointer: Pointer, store: WorkingStore, attempt: Attempt
    ) -> Pointer:
        try:
            while not self.snapshot_due(pointer) and (parts := self.merger_due(pointer)):
                pointer = pointer.with_merged(parts, write_merger(log, parts, attempt))
        except StateCorruptError as error:
            _LOG.warning("task %s: mending the log with a snapshot: %s", log.task, error)
        else:
            if not self.snapshot_due(pointer):
                return pointer
        return write_snapshot(log, pointer, store, attempt, chunk_bytes=self.chunk_bytes)
