"""Read a copy of a partitioned table as one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from typing import Any, NoReturn

import pyarrow as pa

from kstreams.errors import StoreError
from kstreams.global_tables.copied_rows import PartitionRows
from kstreams.global_tables.known_rows import KnownRows
from kstreams.global_tables.table_version import TableVersion
from kstreams.partitioner import Partitioner
from kstreams.state.backend.working import WorkingStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.times import FixedTimes
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_access import Row, TableAccess

__all__ = ("OpenTable", "across", "moving")

_MOST_CACHED = 250_000


class OpenTable:
    """One version of a table; one thread at a time may read it.

    Args:
        spec: The store of the table.
        version: The table version to read.
        copy: The copy at this version; `close` closes it.

    Attributes:
        access: The access to the version.
    """

    def __init__(self, spec: StoreSpec[Any], version: TableVersion, copy: WorkingStore) -> None:
        self._copy = copy
        self._overlays = [
            Overlay(
                PartitionRows(copy, partition),
                times=FixedTimes(pointer.meta.get("time", -1), version.wall_ms),
            )
            for partition, pointer in enumerate(version.pointers)
        ]
        for overlay in self._overlays:
            overlay.seal()
        parts = [spec.kind.table(spec, spec.open(overlay)) for overlay in self._overlays]
        access = across(spec, parts, version.place.partitioner)
        plain = spec.key.ordered.hashes_by_bytes and spec.value.immutable
        self._known = KnownRows(access) if plain else None
        self.access = access if self._known is None else self._known.access

    def trim(self) -> None:
        """Clear each row cache of the table that has more than 250,000 rows."""
        if self._known is not None:
            self._known.trim()
        caches = (each.rows for overlay in self._overlays for each in overlay.cached().values())
        if sum(map(len, caches)) > _MOST_CACHED:
            for overlay in self._overlays:
                overlay.forget_read()

    def close(self) -> None:
        """Close the copy."""
        self._copy.close()


def across(
    spec: StoreSpec[Any], parts: Sequence[TableAccess], partitioner: Partitioner | None
) -> TableAccess:
    """Return an access that reads the partitions of a table as one table.

    A key is searched in the partition that the partitioner chooses, then in the other partitions,
    because the writer of the table may use another partitioner.

    Args:
        spec: The store of the table.
        parts: The access to each partition.
        partitioner: The partitioner of keys, if it is known.
    """
    if len(parts) == 1:
        return TableAccess(
            parts[0].get, parts[0].get_many, _refuse, parts[0].scan, parts[0].get_as_of
        )
    return _Parts(spec, parts, partitioner).access()


def moving(spec: StoreSpec[Any], present: Callable[[], TableAccess]) -> TableAccess:
    """Return an access to a table whose version may change between reads.

    Args:
        spec: The store of the table.
        present: Returns the access to the current version.
    """

    def as_of(key: Any, time_ms: int) -> Row | None:  # noqa: ANN401  # erased types
        get_as_of = present().get_as_of
        return None if get_as_of is None else get_as_of(key, time_ms)

    return TableAccess(
        lambda key: present().get(key),
        lambda keys: present().get_many(keys),
        _refuse,
        lambda start, end: present().scan(start, end),
        as_of if spec.kind.has_history else None,
    )


class _Parts:
    def __init__(
        self, spec: StoreSpec[Any], parts: Sequence[TableAccess], partitioner: Partitioner | None
    ) -> None:
        self._parts = parts
        self._gets = [part.get for part in parts]
        self._encode = spec.key.serialize
        self._order = spec.key.ordered.serialize
        self._partitioner = partitioner

    def access(self) -> TableAccess:
        as_of = [part.get_as_of for part in self._parts if part.get_as_of is not None]
        return TableAccess(
            self._get, self._get_many, _refuse, self._scan, self._as_of(as_of) if as_of else None
        )

    def _home(self, key: Any) -> int:  # noqa: ANN401  # erased types
        if self._partitioner is None:
            return 0
        return self._partitioner.partition(self._encode(key), len(self._parts))

    def _homes(self, keys: Sequence[Any]) -> list[int]:
        if self._partitioner is None:
            return [0] * len(keys)
        data = pa.array(list(map(self._encode, keys)), pa.binary())
        homes: list[int] = self._partitioner.partition_batch(data, len(self._parts)).tolist()
        return homes

    def _get(self, key: Any) -> Row | None:  # noqa: ANN401  # as above
        home = self._home(key)
        row = self._gets[home](key)
        if row is None:
            for number, get in enumerate(self._gets):
                if number != home and (row := get(key)) is not None:
                    return row
        return row

    def _get_many(self, keys: Sequence[Any]) -> list[Row | None]:
        found: dict[int, Row | None] = {}
        homes = self._homes(keys)
        for number, part in enumerate(self._parts):
            own = [place for place, home in enumerate(homes) if home == number]
            found.update(zip(own, part.get_many([keys[place] for place in own]), strict=True))
        for number, part in enumerate(self._parts):
            missed = [p for p, row in found.items() if row is None and homes[p] != number]
            rows = part.get_many([keys[place] for place in missed]) if missed else ()
            found.update(zip(missed, rows, strict=True))
        return [found[place] for place in range(len(keys))]

    def _scan(self, start: Any, end: Any) -> Iterator[tuple[Any, Row]]:  # noqa: ANN401
        order, before = self._order, None
        scans = [part.scan(start, end) for part in self._parts]
        for key, row in merge(*scans, key=lambda found: order(found[0])):
            data = order(key)
            if data != before:
                own = self._gets[self._home(key)](key)
                yield key, own or row
            before = data

    def _as_of(
        self, parts: Sequence[Callable[[Any, int], Row | None]]
    ) -> Callable[[Any, int], Row | None]:
        def as_of(key: Any, time_ms: int) -> Row | None:  # noqa: ANN401  # erased types
            home = self._home(key)
            row = parts[home](key, time_ms)
            if row is None:
                for number, get in enumerate(parts):
                    if number != home and (row := get(key, time_ms)) is not None:
                        return row
            return row

        return as_of


def _refuse(*_: object) -> NoReturn:
    raise StoreError("a global table is read-only", hint="write to another store of the task.")
