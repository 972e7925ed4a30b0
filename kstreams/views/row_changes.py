"""The rows that differ between successive versions of a view."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Generic, TypeVar

from kstreams._types import K
from kstreams.state.stores.kind import StoreKind
from kstreams.state.stores.spec import S, StoreSpec
from kstreams.views.pinned import Pinned

__all__ = ("RowChange", "RowChanges", "VersionSteps", "check_reports_rows")

T = TypeVar("T")
"""The result type of the method `get` of the store."""

_CHUNK = 500
_row = itemgetter(0)


@dataclass(frozen=True)
class RowChange(Generic[K, T]):
    """A key whose value changed.

    Attributes:
        key: The key.
        old: The result of `get` before the change: None (or an empty list) for no value.
        new: The result of `get` after the change: None (or an empty list) after a deletion.
    """

    key: K
    old: T
    new: T


@dataclass(frozen=True)
class RowChanges(Generic[K, T]):
    """The changed rows of a version, read while they are iterated over.

    Iterate inside the callback: rows cannot be read after it returns. Partitions follow each other;
    the keys of each partition are in order.

    Attributes:
        version: The version of the `new` values.
        complete: Whether the changes are all rows of the version, without `old` values: at the
            first call, and after the app was reset or upgraded. If you keep a copy of the rows,
            clear the copy then.
        rows: Starts an iteration over the changes.
    """

    version: int
    complete: bool
    rows: Callable[[], Iterator[RowChange[K, T]]]

    def __iter__(self) -> Iterator[RowChange[K, T]]:
        """Return an iterator over the changed rows."""
        return self.rows()


def check_reports_rows(kind: StoreKind[Any]) -> None:
    """Make sure that a kind of store can report changed rows.

    Raises:
        StoreKindError: The kind cannot report changed rows.
    """
    kind.row_key(b"")


class VersionSteps(Generic[S]):
    """Compares each version with the previous version.

    Args:
        spec: The store.
        hold: Returns the current version with all partitions ready, readable while it is
            referenced.
    """

    def __init__(self, spec: StoreSpec[S], hold: Callable[[], Pinned[S]]) -> None:
        self._spec = spec
        self._hold = hold
        self._before: Pinned[S] | None = None

    def next(self, get: Callable[[S, K], T]) -> RowChanges[K, T] | None:
        """Return the rows that changed since the version of the last call.

        The result is None if no batch is committed yet, or if the version is still that of the last
        call. The first call, and a call after a reset or an upgrade of the app, return all rows
        (`RowChanges.complete`).

        Args:
            get: Returns the value of a key in a store of the view, usually the method `get` of the
                store's class.
        """
        before, now = self._before, self._hold()
        if now.batch is None:
            return None
        if before is not None and (before.epoch != now.epoch or not before.is_readable()):
            before = None  # the app has begun again, or was upgraded
        if before is not None and before.batch == now.batch:
            return None
        self._before = now
        return RowChanges(now.batch, before is None, lambda: self._rows(before, now, get))

    def _rows(
        self, before: Pinned[S] | None, now: Pinned[S], get: Callable[[S, K], T]
    ) -> Iterator[RowChange[K, T]]:
        for partition in range(now.partitions):
            old = _Side(before, partition, get, self._spec.kind.absent)
            new = _Side(now, partition, get, self._spec.kind.absent)
            keys = self._changed_keys(before, now, partition)
            while chunk := list(islice(keys, _CHUNK)):
                rows = zip(chunk, old.values(chunk), new.values(chunk), strict=True)
                for key, was, value in rows:
                    if not (self._is_absent(was) and self._is_absent(value)):
                        yield RowChange(key, was, value)

    def _is_absent(self, value: object) -> bool:
        absent = self._spec.kind.absent
        return value is None if absent is None else bool(value == absent)

    def _changed_keys(
        self, before: Pinned[S] | None, now: Pinned[S], partition: int
    ) -> Iterator[Any]:
        """Yield the keys whose rows differ, in order."""
        read, row_key = self._spec.key.ordered.deserialize, self._spec.kind.row_key
        for row in self._changed_rows(before, now, partition):
            key = row_key(row)
            if key is not None:
                yield read(key)

    def _changed_rows(
        self, before: Pinned[S] | None, now: Pinned[S], partition: int
    ) -> Iterator[bytes]:
        changed = None if before is None else now.changed_since(before, partition)
        if before is None:
            yield from (row for row, _ in now.stored_pairs(partition, _CHUNK))
        elif changed is None:  # restored from the log: no layers lead from one to the other
            sides = (side.stored_pairs(partition, _CHUNK) for side in (before, now))
            for row, pairs_of_row in groupby(merge(*sides, key=_row), key=_row):
                values = [value for _, value in pairs_of_row]
                if len(values) == 1 or values[0] != values[1]:
                    yield row
        else:
            rows = iter(sorted(changed))
            while chunk := list(islice(rows, _CHUNK)):
                pairs = (side.stored_values(partition, chunk) for side in (before, now))
                yield from (row for row, a, b in zip(chunk, *pairs, strict=True) if a != b)


class _Side(Generic[S, K, T]):
    """One of the two versions that are compared."""

    def __init__(
        self,
        held: Pinned[S] | None,
        partition: int,
        get: Callable[[S, K], T],
        absent: object,
    ) -> None:
        self._held = held
        self._partition = partition
        self._get = get
        self._absent = absent

    def values(self, keys: Sequence[K]) -> list[Any]:
        """Return the values of keys; without a version, the store's value for absent keys."""
        if self._held is None:
            return [self._absent] * len(keys)
        return self._held.read(
            (self._partition,), lambda stores: [self._get(stores[0], key) for key in keys]
        )
