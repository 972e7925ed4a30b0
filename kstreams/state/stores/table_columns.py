"""Tables for columnar joins; a lookup sees the table as of the lookup's position in the batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams._types import Ints
from kstreams.errors import TopologyError
from kstreams.serde.objects import objects_of
from kstreams.state.stores.table_access import Row

__all__ = ("Found", "PresentColumns", "TableColumns")

_PLACE_BITS = 40
_NO_KEYS = pa.nulls(0)


class Found(NamedTuple):
    """The results of the lookups of a columnar join in a table.

    Attributes:
        rows: Rows of the table; None for a key without a row.
        numbers: The index in `rows` of each lookup's result.
        unknown: The number of lookups that found None because the table no longer has the
            history of that time.
    """

    rows: Sequence[Row | None]
    numbers: Ints
    unknown: int = 0


class TableColumns(ABC):
    """A table for columnar joins: the rows of a store, and the pending changes of the batch.

    Pending changes are changes that `settle` has not yet written to the store. A join looks up
    many keys at once, each at a position in the batch, and sees the changes up to that position.
    Keys are hashable, and equal if their bytes are equal.
    """

    @abstractmethod
    def put(self, keys: pa.Array, values: list[Any], times: list[int], places: Ints) -> None:
        """Add pending changes, by ascending position; first `settle` any earlier pending changes.

        Args:
            keys: The keys, of the key serde's `arrow_type`; none is null.
            values: The values; None deletes the key's row.
            times: The times of the values, ms.
            places: The position of each value in the batch.
        """

    @abstractmethod
    def settle(self) -> int:
        """Write the pending changes; return the number of changes that were too old for the store.

        The store ignores changes that are older than its retention.
        """

    @abstractmethod
    def rows_at(self, keys: pa.Array, codes: Ints, places: Ints, times: Ints) -> Found:
        """Look up keys at positions in the batch.

        Args:
            keys: Distinct keys, of the `arrow_type` of their serde.
            codes: The index in `keys` of each lookup's key.
            places: The position of each lookup in the batch, ascending.
            times: The time (ms) of each lookup, for tables with a history.
        """


class PresentColumns(TableColumns):
    """A table in which the last put value of a key is the current value, whatever its time.

    Args:
        get_many: Reads rows of the store.
        put_many: Writes rows of the store; for a repeated key, the last row wins.
    """

    def __init__(
        self,
        get_many: Callable[[Sequence[Any]], list[Row | None]],
        put_many: Callable[[Sequence[Any], Sequence[Row | None]], None],
    ) -> None:
        self._get_many = get_many
        self._put_many = put_many
        self._rows: list[Row | None] = []
        self._forget()

    @staticmethod
    def among(columns: TableColumns, store: str) -> PresentColumns:
        """Return `columns` if they are `PresentColumns`, whose rows can be written immediately.

        `store` is the name of the store, for the error.

        Raises:
            TopologyError: The columns are of another class.
        """
        if isinstance(columns, PresentColumns):
            return columns
        raise TopologyError(
            f"store {store!r} is versioned, so a join by columns cannot write to it",
            hint="define the store with timestamped_store(...), or join with execution='records'.",
        )

    def read(self, keys: Sequence[Any]) -> list[Row | None]:
        """Return the rows of distinct keys, without pending changes."""
        return self._get_many(keys)

    def write(self, keys: Sequence[Any], rows: Sequence[Row | None]) -> None:
        """Write rows to the store immediately; None deletes a row."""
        self._put_many(keys, rows)

    def put(self, keys: pa.Array, values: list[Any], times: list[int], places: Ints) -> None:
        """Buffer the changed rows of a batch until `settle` writes them.

        Args:
            keys: The key of each row; a key may occur several times.
            values: The value of each row; None deletes the row of the key.
            times: The timestamp of each row, in ms since the epoch.
            places: The position of each row in the batch, for `rows_at`.
        """
        found = keys.dictionary_encode()
        codes = found.indices.to_numpy().astype(np.int64)
        self._keys, self._known = keys, found.dictionary
        pairs = zip(values, times, strict=True)
        self._rows = [None if value is None else (value, time) for value, time in pairs]
        self._order = np.argsort(codes, kind="stable")
        self._packed = (codes << _PLACE_BITS | places)[self._order]

    def settle(self) -> int:
        """Write the pending rows and return 0: no row is too old."""
        if self._rows:
            self._put_many(objects_of(self._keys), self._rows)
            self._forget()
        return 0

    def _forget(self) -> None:
        self._keys, self._known = _NO_KEYS, _NO_KEYS
        self._rows = []
        self._order = np.empty(0, np.int64)
        self._packed = np.empty(0, np.int64)

    def rows_at(self, keys: pa.Array, codes: Ints, places: Ints, times: Ints) -> Found:
        """Return each lookup's last pending row before its position, or else the stored row."""
        if not self._rows:
            return Found(self._get_many(objects_of(keys)), codes)
        found = self._waiting(keys, codes, places)
        missing = found < 0
        is_asked = np.zeros(len(keys), bool)
        is_asked[codes[missing]] = True
        stored = self._get_many(objects_of(keys.filter(pa.array(is_asked))))
        numbers = np.cumsum(is_asked) - 1 + len(self._rows)
        found[missing] = numbers[codes[missing]]
        return Found([*self._rows, *stored], found)

    def _waiting(self, keys: pa.Array, codes: Ints, places: Ints) -> Ints:
        """Return each lookup's index in the pending rows, `self._rows`; -1 if it has none there."""
        own = pc.index_in(keys, value_set=self._known).fill_null(-1).to_numpy()[codes]
        some = np.flatnonzero(own >= 0)
        found = np.full(len(codes), -1)
        if len(some):
            wanted = own[some].astype(np.int64)
            at = np.searchsorted(self._packed, wanted << _PLACE_BITS | places[some], "right") - 1
            hit = at >= 0
            hit[hit] = self._packed[at[hit]] >> _PLACE_BITS == wanted[hit]
            found[some[hit]] = self._order[at[hit]]
        return found
