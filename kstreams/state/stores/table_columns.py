"""A table's rows while a batch changes it: what held at any place of the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kstreams._types import Ints
from kstreams.state.stores.table_access import Row

__all__ = ("TableColumns",)

_PLACE_BITS = 40


class TableColumns:
    """Rows that wait to be put, over those of a store.

    A join by columns looks up many keys at once, each at a place of the batch; it sees the
    last row that was put up to there. Keys are hashable, and equal if their bytes are.

    Args:
        get_many: Reads rows of the store.
        put_many: Writes rows of the store; of equal keys the last wins.
    """

    def __init__(
        self,
        get_many: Callable[[Sequence[Any]], list[Row | None]],
        put_many: Callable[[Sequence[Any], Sequence[Row | None]], None],
    ) -> None:
        self._get_many = get_many
        self._put_many = put_many
        self._keys: list[Any] = []
        self._rows: list[Row | None] = []
        self._codes: dict[Any, int] = {}
        self._order = np.empty(0, np.int64)
        self._packed = np.empty(0, np.int64)

    def read(self, keys: Sequence[Any]) -> list[Row | None]:
        """Return the rows of different keys, where none waits to be put."""
        return self._get_many(keys)

    def write(self, keys: Sequence[Any], rows: Sequence[Row | None]) -> None:
        """Put rows into the store at once; None deletes."""
        self._put_many(keys, rows)

    def put(self, keys: list[Any], rows: list[Row | None], places: Ints) -> None:
        """Put rows, in the order of their places, which come after all that was put before."""
        self.settle()
        self._keys, self._rows = keys, rows
        known = self._codes
        codes = np.array([known.setdefault(key, len(known)) for key in keys], np.int64)
        self._order = np.argsort(codes, kind="stable")
        self._packed = (codes << _PLACE_BITS | places)[self._order]

    def settle(self) -> None:
        """Write what waits to the store."""
        if self._keys:
            self._put_many(self._keys, self._rows)
            self._keys, self._rows = [], []
            self._codes = {}

    def rows_at(self, keys: list[Any], codes: Ints, places: Ints) -> tuple[list[Row | None], Ints]:
        """Look up keys at places.

        Args:
            keys: Different keys.
            codes: Of each look-up, the number of its key among them.
            places: Of each look-up, its place.

        Returns:
            Rows, and for each look-up which of them it is.
        """
        if not self._keys:
            return self._get_many(keys), codes
        found = self._waiting(keys, codes, places)
        missing = found < 0
        asked = np.flatnonzero(np.bincount(codes[missing], minlength=len(keys)))
        stored = self._get_many([keys[code] for code in asked.tolist()])
        numbers = np.zeros(len(keys), np.int64)
        numbers[asked] = np.arange(len(asked))
        found[missing] = numbers[codes[missing]] + len(self._rows)
        return [*self._rows, *stored], found

    def _waiting(self, keys: list[Any], codes: Ints, places: Ints) -> Ints:
        """Return for each look-up the number of the row that waits for it; -1 for none."""
        known = self._codes
        own = np.array([known.get(key, -1) for key in keys], np.int64)[codes]
        at = np.searchsorted(self._packed, own << _PLACE_BITS | places, side="right") - 1
        hit = (own >= 0) & (at >= 0)
        hit[hit] = self._packed[at[hit]] >> _PLACE_BITS == own[hit]
        return np.where(hit, self._order[np.maximum(at, 0)], -1)
