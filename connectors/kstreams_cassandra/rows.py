"""Conversion of results to rows, and rejection of invalid rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from kstreams import Record
from kstreams_rows.encoding import Change

__all__ = ("Columns", "Row", "RowMaker", "quoted")

Columns: TypeAlias = Mapping[str, object]
"""Values of a row by column, as cassandra-driver takes them."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row to write.

    Attributes:
        names: The columns, key columns first.
        values: The values of the columns.
    """

    names: tuple[str, ...]
    values: tuple[object, ...]


@dataclass(frozen=True)
class RowMaker:
    """Builds rows of a table.

    Attributes:
        key: The columns of the primary key.
        columns: All columns of the table.
        row: Builds the columns of a row.
    """

    key: tuple[str, ...]
    columns: frozenset[str]
    row: Callable[[Any, Any], Columns | None]

    def change(self, record: Record[Any, Any]) -> Change[tuple[object, ...], Row]:
        """Return the change of a record's row: a write, or a delete if it has no columns.

        Raises:
            TypeError, ValueError: The row has no key, a key other than the record's, or an unknown
                column.
        """
        own = self._own_key(record.key)
        columns: object = self.row(record.key, record.value)
        if columns is None:
            return Change(own, None)
        if not isinstance(columns, Mapping):
            raise TypeError(
                f"row= returned a {type(columns).__name__}; expected a mapping of columns, or None"
            )
        for name, value in columns.items():
            if name not in self.columns:
                known = ", ".join(sorted(self.columns))
                raise ValueError(
                    f"row= returned the unknown column {name!r}; the table has {known}"
                )
            if name in self.key and own[self.key.index(name)] != value:
                raise ValueError(
                    f"row= returned another value of key column {name!r} than the record's key, "
                    f"{own!r}"
                )
        others = tuple(name for name in columns if name not in self.key)
        return Change(own, Row((*self.key, *others), (*own, *[columns[name] for name in others])))

    def _own_key(self, key: object) -> tuple[object, ...]:
        width = len(self.key)
        if width == 1:
            own: tuple[object, ...] = (key,)
        elif isinstance(key, tuple) and len(key) == width:
            own = key
        else:
            names = ", ".join(self.key)
            raise TypeError(
                f"expected a tuple of {width} values ({names}) as the record's key, got {key!r}"
            )
        if None in own:
            raise ValueError(f"the record's key is or contains None: {own!r}")
        hash(own)
        return own


def quoted(name: str) -> str:
    """Return a name, quoted for CQL."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
