"""Rows of Bigtable: keys, columns and values as bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from kstreams import Record
from kstreams_bigtable.sdk import types
from kstreams_rows.encoding import Change

__all__ = ("Cell", "Cells", "Row", "RowMaker", "mutations")

Cell: TypeAlias = str | bytes | int
"""A cell's value, stored as bytes: text as UTF-8, integers as 8 bytes, big-endian and signed."""
Cells: TypeAlias = Mapping[str, Cell | None]
"""The cells of a row, by `family:column`; None deletes a cell."""
Row: TypeAlias = Mapping[tuple[str, bytes], bytes | None]
"""The cells of a row by family and column, as bytes; None deletes a cell."""

_KEY_BYTES = 4096
_COLUMN_BYTES = 16 * 1024
_CELL_BYTES = 100 * 1024 * 1024
_MOST_CELLS = 100_000
_EARLIEST = 0


@dataclass(frozen=True)
class RowMaker:
    """Builds rows from results.

    Attributes:
        key: Builds the row key; by default the record's key is used.
        row: Builds the cells; None deletes the row.
        families: The column families of the table; None if they are unknown.
    """

    key: Callable[[Any], str | bytes] | None
    row: Callable[[Any, Any], Cells | None]
    families: frozenset[str] | None = None

    def change(self, record: Record[Any, Any]) -> Change[bytes, Row]:
        """Return the change of a record's row.

        Raises:
            TypeError: A value has a type that Bigtable cannot store.
            ValueError: A value is too large, or a column has no family or an unknown one.
        """
        key = _bytes(record.key if self.key is None else self.key(record.key), "the row key")
        if not 0 < len(key) <= _KEY_BYTES:
            raise ValueError(f"the row key has {len(key):,} bytes; expected 1 to {_KEY_BYTES:,}")
        cells = self.row(record.key, record.value)
        if cells is None:
            return Change(key, None, len(key))
        if not 0 < len(cells) <= _MOST_CELLS:
            raise ValueError(
                f"row= returned {len(cells)} cells; expected 1 to {_MOST_CELLS:,}, or None"
            )
        row = {_column(name): _cell(name, value) for name, value in cells.items()}
        if self.families is not None:
            unknown = sorted({family for family, _ in row} - self.families)
            if unknown:
                known = ", ".join(sorted(self.families))
                raise ValueError(f"the table has no column family {unknown[0]!r}, only {known}")
        size = sum(len(column) + len(value or b"") for (_, column), value in row.items())
        return Change(key, row, len(key) + size)


def mutations(change: Change[bytes, Row], micros: int) -> list[types.Mutation]:
    """Return the mutations of a row, with a timestamp in microseconds."""
    if change.row is None:
        return [types.Mutation(delete_from_row=types.Mutation.DeleteFromRow())]
    found: list[types.Mutation] = []
    for (family, column), value in change.row.items():
        if value is None:
            until = types.TimestampRange(
                start_timestamp_micros=_EARLIEST, end_timestamp_micros=micros + 1_000
            )
            gone = types.Mutation.DeleteFromColumn(
                family_name=family, column_qualifier=column, time_range=until
            )
            found.append(types.Mutation(delete_from_column=gone))
        else:
            cell = types.Mutation.SetCell(
                family_name=family, column_qualifier=column, timestamp_micros=micros, value=value
            )
            found.append(types.Mutation(set_cell=cell))
    return found


def _column(name: object) -> tuple[str, bytes]:
    if not isinstance(name, str):
        raise TypeError(
            f"row= returned a column name of type {type(name).__name__}; expected the text "
            "family:column"
        )
    family, colon, column = name.partition(":")
    if not family or not colon:
        raise ValueError(f"row= returned the column name {name[:80]!r}; expected family:column")
    if len(column.encode()) > _COLUMN_BYTES:
        raise ValueError(f"column name {name[:80]!r}… has more than {_COLUMN_BYTES:,} bytes")
    return family, column.encode()


def _cell(name: str, value: object) -> bytes | None:
    if value is None:
        return None
    found = _bytes(value, f"cell {name[:80]!r}")
    if len(found) > _CELL_BYTES:
        raise ValueError(
            f"cell {name[:80]!r} has {len(found):,} bytes; the maximum is {_CELL_BYTES:,}"
        )
    return found


def _bytes(value: object, what: str) -> bytes:
    match value:
        case bytes():
            return value
        case str():
            return value.encode()
        case bool():
            raise TypeError(f"{what} is a bool, which Bigtable cannot store: use 0 or 1")
        case int():
            try:
                return value.to_bytes(8, "big", signed=True)
            except OverflowError:
                raise ValueError(f"{what} is an integer of more than 64 bits") from None
        case _:
            raise TypeError(f"{what} is a {type(value).__name__}; expected text, bytes or int")
