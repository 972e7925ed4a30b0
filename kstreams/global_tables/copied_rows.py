"""A copy of all partitions of a table in one working store, with a key prefix per partition.

The prefixes keep partitions separate: a key in two partitions is two rows, so the order of their
changes does not matter, and an updated copy equals a new copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

from kstreams.errors import StoreError
from kstreams.global_tables.table_version import TableVersion
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.backend.working import Changes, StoreChanges, WorkingStore
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.store_changes import changes_of

__all__ = ("Marks", "PartitionRows", "advance", "marks_of")

Marks = Sequence[tuple[int, str]]
"""For each partition of a copy, the number and the id of its version."""

_PREFIX_BYTES = 2


def marks_of(version: TableVersion) -> list[tuple[int, str]]:
    """Return the version number and version id of each partition, as recorded for a copy."""
    return [(pointer.version, pointer.version_id) for pointer in version.pointers]


def advance(
    store: WorkingStore,
    version: TableVersion,
    marks: Marks,
    log_of: Callable[[TaskKey], DurableLog],
) -> None:
    """Update a copy to a version; read only the deltas since its current version if possible.

    Args:
        store: The copy to update.
        version: The target version.
        marks: The versions of the copy's partitions, a result of `marks_of`; empty for an empty
            copy.
        log_of: Opens the durable log of a task.

    Raises:
        StateCorruptError: An object of the version is damaged or was deleted.
    """
    name = version.place.store
    for partition, pointer in enumerate(version.pointers):
        number, version_id = marks[partition] if partition < len(marks) else (0, "")
        if version_id == pointer.version_id:
            continue
        prefix = _prefix(partition)
        if version_id and pointer.base <= number <= pointer.version:
            refs = pointer.deltas_after(number)
        else:
            refs = pointer.objects()
            if version_id:
                store.write({name: StoreChanges((), [(prefix, _prefix(partition + 1))])})
        for changed in changes_of(log_of(version.task(partition)), refs, name):
            store.write({name: _below(prefix, changed)})


def _below(prefix: bytes, changed: StoreChanges) -> StoreChanges:
    return StoreChanges(
        [(prefix + key, value) for key, value in changed.pairs],
        [(prefix + start, prefix + end) for start, end in changed.ranges],
    )


def _prefix(partition: int) -> bytes:
    return partition.to_bytes(_PREFIX_BYTES, "big")


class PartitionRows:
    """One partition of a copy, as a read-only `WorkingStore`.

    Args:
        copy: The copy of all partitions.
        partition: Number of the partition.
    """

    def __init__(self, copy: WorkingStore, partition: int) -> None:
        self._copy = copy
        self._prefix = _prefix(partition)
        self._end = _prefix(partition + 1)

    def get(self, store: str, key: bytes) -> bytes | None:
        """Return the value of a key, or None if the key does not exist."""
        return self._copy.get(store, self._prefix + key)

    def multi_get(self, store: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of many keys, in the order of the keys; None for a missing key."""
        prefix = self._prefix
        return self._copy.multi_get(store, [prefix + key for key in keys])

    def scan(
        self, store: str, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield pairs with `start <= key < end` in bytewise order; None means no bound."""
        first = self._prefix + (start or b"")
        last = self._end if end is None else self._prefix + end
        for key, value in self._copy.scan(store, first, last, reverse=reverse):
            yield key[_PREFIX_BYTES:], value

    def count(self, store: str) -> int:
        """Return the approximate number of keys of the whole copy, not only of the partition."""
        return self._copy.count(store)

    def write(self, changes: Changes) -> NoReturn:
        """Raise `StoreError`: a copy of a committed version is read-only."""
        raise StoreError("a copy of a global table is read-only")

    def close(self) -> None:
        """Do nothing: the owner of the copy closes it."""
