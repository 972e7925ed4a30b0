"""The reads of an attempt on an open version: stored rows, with buffered changes on top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import chain
from operator import itemgetter
from typing import NoReturn

from typing_extensions import override

from kstreams.errors import StoreError, Where
from kstreams.state.backend.key_ranges import gaps
from kstreams.state.backend.working import Changes, Pair, WorkingStore
from kstreams.state.versions.change_buffer import ChangeBuffer

__all__ = ("BufferedStore",)

_UNKNOWN = object()


class BufferedStore(WorkingStore):
    """A read-only `WorkingStore` of one attempt; closing it leaves the version open.

    Args:
        base: The working store with the stored rows.
        buffers: The buffered changes by store, which do not change while this store is open.

    Attributes:
        failed: Whether the base has raised an error, so that the version should be reopened.
    """

    def __init__(self, base: WorkingStore, buffers: Mapping[str, ChangeBuffer]) -> None:
        self.failed = False
        self._base: WorkingStore | None = base
        self._buffers = buffers

    @override
    def get(self, store: str, key: bytes) -> bytes | None:
        base = self._open(store)
        if (buffer := self._buffers.get(store)) is not None:
            found = buffer.values.get(key, _UNKNOWN)
            if found is not _UNKNOWN:
                return found  # type: ignore[return-value]  # bytes or None: not the mark
            if buffer.is_in_deleted_range(key):
                return None
        try:
            return base.get(store, key)
        except Exception:
            self.failed = True
            raise

    def multi_get(self, store: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of many keys, in the order of the keys; reads the base once."""
        base = self._open(store)
        buffer = self._buffers.get(store)
        try:
            if buffer is None:
                return base.multi_get(store, keys)
            values = buffer.values
            left = [
                key for key in keys if key not in values and not buffer.is_in_deleted_range(key)
            ]
            found = dict(zip(left, base.multi_get(store, left), strict=True))
        except Exception:
            self.failed = True
            raise
        return [values[key] if key in values else found.get(key) for key in keys]

    @override
    def scan(
        self, store: str, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        base = self._open(store)
        buffer = self._buffers.get(store)
        try:
            if buffer is None:
                return self._guarded(base.scan(store, start, end, reverse=reverse))
            parts = list(gaps(buffer.ranges, start, end))
            if reverse:
                parts.reverse()
            scans = [base.scan(store, low, high, reverse=reverse) for low, high in parts]
        except Exception:
            self.failed = True
            raise
        above = buffer.scan(start, end, reverse=reverse)
        return self._guarded(_merged(above, chain.from_iterable(scans), reverse=reverse))

    def _guarded(self, pairs: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        try:
            for pair in pairs:
                if self._base is None:
                    break
                yield pair
        except Exception:
            self.failed = True
            raise
        if self._base is None:
            raise StoreError(
                "the store was closed while this scan was open",
                hint="Read all rows before the batch ends.",
            )

    def count(self, store: str) -> int:
        """Return the approximate number of keys: a key that is changed in memory counts twice."""
        base = self._open(store)
        buffer = self._buffers.get(store)
        return max(0, base.count(store) + (0 if buffer is None else buffer.rows))

    def write(self, changes: Changes) -> NoReturn:
        """Reject a write: only a commit writes.

        Raises:
            StoreError: Always.
        """
        raise StoreError(
            f"cannot write to stores {sorted(changes)}: the copy of the stores that a batch "
            "reads is read-only"
        )

    def close(self) -> None:
        """End the reads of the attempt; a second call does nothing."""
        self._base = None

    def _open(self, store: str) -> WorkingStore:
        if self._base is None:
            raise StoreError(
                "the attempt that read this store has ended",
                hint="Read the store before the batch ends.",
                where=Where(store=store),
            )
        return self._base


def _merged(
    above: Iterator[Pair], below: Iterator[tuple[bytes, bytes]], *, reverse: bool
) -> Iterator[tuple[bytes, bytes]]:
    """Merge buffered pairs (`above`) with stored pairs (`below`); omit deleted keys.

    For a key in both, the buffered value counts.
    """
    last: bytes | None = None
    for key, value in merge(above, below, key=itemgetter(0), reverse=reverse):
        if key == last:  # of equal keys the one above comes first
            continue
        last = key
        if value is not None:
            yield key, value
