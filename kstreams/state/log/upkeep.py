"""Merging of deltas and creation of snapshots, for short pointers and fast restores.

Deltas of similar size are merged eight at a time, as in a log-structured merge tree, and a
snapshot is due when the deltas exceed half of the last snapshot's size. So each change is
rewritten only a few times, for any size of state and of batches.
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
    """Settings for merging deltas and creating snapshots; sizes are of compressed objects.

    Args:
        merge_count: The number of deltas of one level that are merged into one of the next level.
        merge_bytes: The maximum total size of merged deltas, because merging is done in memory.
        max_deltas: The number of deltas of a pointer at which a snapshot is due.
        snapshot_fraction: A snapshot is due if the deltas exceed `floor_bytes` and this fraction of
            the last snapshot's size.
        floor_bytes: The minimum size of deltas for a snapshot. If the deltas are due to be merged
            and are at least as large as the last snapshot, a quarter of this size is enough.
        small_bytes: If a state has at most this size, a snapshot is created when merged deltas
            would be merged again.
        chunk_bytes: The approximate size of a snapshot's chunks, before compression.

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
                raise ValueError(f"Upkeep({field}={getattr(self, field)}): expected {low} or more")

    def run(
        self, log: DurableLog, pointer: Pointer, store: WorkingStore, attempt: Attempt
    ) -> Pointer:
        """Merge deltas and create a snapshot if due; return a pointer with the new objects.

        The version stays the same. A commit calls this method at its end if there is no background
        upkeep. A failure is logged and has no effect except longer restores.

        Args:
            log: The durable log of the task.
            pointer: The version.
            store: The working store, at exactly the pointer's version.
            attempt: The attempt in the names of new objects.
        """
        try:
            return self._run(log, pointer, store, attempt)
        except StoreError as error:
            _LOG.warning("task %s: no snapshot this time: %s", log.task, error)
            return pointer

    def due(self, pointer: Pointer) -> bool:
        """Return whether a snapshot or a merge of deltas is due."""
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
        """Return the oldest consecutive deltas that are due to be merged; empty if none are."""
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
