"""The records of both inputs of a join, in one order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams._types import Bools, Ints
from kstreams.columns.keys import KeyCodes
from kstreams.processors.columns import PLACE, STREAM_TIME, ColumnSource
from kstreams.raw_batch import HEADERS_TYPE, headers_of
from kstreams.state.stores.join.coding import write_headers

__all__ = ("NO_KEY", "NO_VALUE", "JoinInput")

NO_KEY, NO_VALUE = -1, -2
"""The codes of records without a key (but with a value), and of records without a value."""


class JoinInput:
    """The records of both inputs in a batch, ordered by batch position.

    Args:
        tables: The records of the left and of the right input.
        sources: The left and the right source.

    Attributes:
        sides: The side of each record: 0 left, 1 right.
        codes: The key number of each record, or `NO_KEY` or `NO_VALUE`.
        times: Timestamps, ms.
        stream: The task's stream time as of each record, ms.
        keys: The distinct keys, numbered.
    """

    def __init__(
        self, tables: Sequence[pa.Table], sources: tuple[ColumnSource, ColumnSource]
    ) -> None:
        self._sources = sources
        self._values = [table.column("value") for table in tables]
        counts = [table.num_rows for table in tables]
        self._headers = pa.chunked_array(
            [chunk for table in tables for chunk in table.column("headers").chunks], HEADERS_TYPE
        )
        self._order = np.argsort(_numbers(tables, PLACE), kind="stable")
        self._first_right = counts[0]
        self.sides: Ints = (self._order >= counts[0]).astype(np.int64)
        self.times: Ints = _numbers(tables, "timestamp")[self._order]
        self.stream: Ints = _numbers(tables, STREAM_TIME)[self._order]
        columns = [table.column("key").cast(pa.binary()) for table in tables]
        keys = pa.concat_arrays([column.combine_chunks() for column in columns])
        has_key = np.asarray(keys.is_valid())
        has_value = np.concatenate([np.asarray(column.is_valid()) for column in self._values])
        self.keys = KeyCodes(keys.filter(pa.array(has_key)), sources[0].key)
        codes = np.full(len(keys), NO_KEY)
        codes[has_key] = self.keys.codes
        codes[~has_value] = NO_VALUE
        self.codes: Ints = codes[self._order]

    @classmethod
    def none(cls, sources: tuple[ColumnSource, ColumnSource]) -> JoinInput:
        """Return an instance without records."""
        kinds = {
            "key": pa.binary(),
            "value": pa.null(),
            "timestamp": pa.int64(),
            "headers": HEADERS_TYPE,
            STREAM_TIME: pa.int64(),
            PLACE: pa.int64(),
        }
        table = pa.table({name: pa.array([], kind) for name, kind in kinds.items()})
        return cls([table, table], sources)

    def value_bytes(self, rows: Ints) -> pa.Array:
        """Return the encoded values of records: first the left ones, then the right ones."""
        parts = [
            self._sources[side].value.from_arrow(column.combine_chunks())
            for side, _, column in self._of_sides(rows)
        ]
        return pa.concat_arrays(parts) if parts else pa.array([], pa.binary())

    def objects(self, rows: Ints) -> npt.NDArray[np.object_]:
        """Return the values of records as objects."""
        found = np.empty(len(rows), object)
        for side, places, column in self._of_sides(rows):
            for place, value in zip(places, self._sources[side].objects(column), strict=True):
                found[place] = value
        return found

    def headers(self, rows: Ints) -> pa.Array:
        """Return the headers of records; null for a row number of -1."""
        places = pa.array(np.where(rows < 0, 0, self._order[rows]), mask=rows < 0)
        taken = self._headers.take(places)
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken

    def header_bytes(self, rows: Ints, wanted: Bools) -> pa.Array | None:
        """Return the headers of records, encoded for a store; None if no record has headers.

        Args:
            rows: The row numbers of the records.
            wanted: The mask of records whose headers are needed; other records get no bytes.
        """
        if self._headers.null_count == len(self._headers):
            return None
        found = zip(headers_of(self.headers(rows)), wanted.tolist(), strict=True)
        data = [write_headers(headers) if is_wanted else b"" for headers, is_wanted in found]
        return pa.array(data, pa.binary()) if any(data) else None

    def _of_sides(self, rows: Ints) -> list[tuple[int, Ints, pa.ChunkedArray]]:
        """Group rows by side; return each side, the indexes in `rows`, and the values."""
        found = []
        origins = self._order[rows]
        for side in (0, 1):
            places = np.flatnonzero((origins >= self._first_right) == bool(side))
            if len(places):
                own = origins[places] - side * self._first_right
                found.append((side, places, self._values[side].take(pa.array(own))))
        return found


def _numbers(tables: Sequence[pa.Table], name: str) -> Ints:
    found: Ints = np.concatenate([table.column(name).to_numpy() for table in tables])
    return found.astype(np.int64)
