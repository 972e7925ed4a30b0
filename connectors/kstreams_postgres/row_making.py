"""Conversion of results to rows, and rejection of invalid rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from kstreams import Record
from kstreams.sinks import RefusedRow
from kstreams_rows.refusing import reason_of
from kstreams_rows.refusing import refused as refused_row

__all__ = ("Columns", "Given", "Made", "PerBatch", "PerRecord", "Row", "RowMaker", "refused")

K_contra = TypeVar("K_contra", contravariant=True)
"""Type of the results' keys."""
V_contra = TypeVar("V_contra", contravariant=True)
"""Type of the results' values."""
K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

Columns = Mapping[str, object]
"""Values of a row by column, as psycopg takes them; JSON columns accept any value."""

_MOST_FORMS = 1_000
"""The maximum number of cached sets of columns."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row to write.

    Attributes:
        number: The number of the row's result; without one, the row's position in the batch.
        key: The values of the key columns.
        names: The columns, key columns first; empty to delete.
        values: The values of the columns.
        record: The result.
    """

    number: int
    key: tuple[object, ...]
    names: tuple[str, ...]
    values: tuple[object, ...]
    record: Record[Any, Any]


Made = tuple[int, object, "Columns | Exception | None", Record[Any, Any]]
"""The number, the key, the columns or the error, and the record of a row."""


class Given(Protocol[K_contra, V_contra]):
    """Builds rows from results with a user function, per record or per batch."""

    def made(self, records: Sequence[Record[K_contra, V_contra]]) -> Iterator[Made]:
        """Yield the rows to write, in order."""
        ...


@dataclass(frozen=True)
class PerRecord(Generic[K, V]):
    """Builds one row per record."""

    row: Callable[[K, V], Columns | None]

    def made(self, records: Sequence[Record[K, V]]) -> Iterator[Made]:
        """Yield a row for each record; an exception of the function rejects the record."""
        for number, record in enumerate(records):
            try:
                columns: Columns | Exception | None = self.row(record.key, record.value)
            except Exception as exc:  # noqa: BLE001  # user code
                columns = exc
            yield number, record.key, columns, record


@dataclass(frozen=True)
class PerBatch(Generic[K, V]):
    """Builds the rows of all records of a batch together."""

    rows: Callable[[Sequence[Record[K, V]]], Iterable[tuple[object, Columns | None]]]

    def made(self, records: Sequence[Record[K, V]]) -> Iterator[Made]:
        """Yield the rows; an exception fails the batch."""
        last = records[-1]
        for number, (key, columns) in enumerate(self.rows(records)):
            yield number, key, columns, Record(key, columns, last.timestamp)


class RowMaker:
    """Builds rows of a table and rejects invalid ones.

    Args:
        key: The columns of the key.
        columns: All columns of the table.
    """

    def __init__(self, key: tuple[str, ...], columns: Iterable[str]) -> None:
        self._key = key
        self._columns = frozenset(columns)
        self._known: dict[tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def rows(self, made: Iterable[Made]) -> tuple[list[Row], list[RefusedRow]]:
        """Return the valid rows, in order, and the rejected rows."""
        rows: list[Row] = []
        wrong: list[RefusedRow] = []
        for number, key, columns, record in made:
            if columns is None and not self._key:
                continue  # nothing to append
            try:
                rows.append(self._row(number, key, columns, record))
            except Exception as exc:  # noqa: BLE001  # the values come from user code
                bad = Row(number, (key,), (), (), record)
                wrong.append(refused(bad, self._key, reason_of(exc), ""))
        return rows, wrong

    def _row(
        self,
        number: int,
        key: object,
        columns: Columns | Exception | None,
        record: Record[Any, Any],
    ) -> Row:
        if isinstance(columns, Exception):
            raise columns
        own = self._own_key(key)
        if columns is None:
            return Row(number, own, (), (), record)
        given = tuple(columns)
        names, others = self._known.get(given) or self._names(given)
        if len(others) + len(self._key) != len(given) and any(
            columns[name] != value
            for name, value in zip(self._key, own, strict=True)
            if name in columns
        ):
            raise ValueError(
                f"the row has other values in its key columns than the record's key, {own!r}"
            )
        return Row(number, own, names, (*own, *[columns[name] for name in others]), record)

    def _own_key(self, key: object) -> tuple[object, ...]:
        width = len(self._key)
        if not width:
            return ()
        if width == 1:
            own: tuple[object, ...] = (key,)
        elif isinstance(key, tuple) and len(key) == width:
            own = key
        else:
            names = ", ".join(self._key)
            raise TypeError(f"expected a tuple of {width} values ({names}) as the key, got {key!r}")
        if None in own:
            raise ValueError(f"the key is or contains None: {own!r}")
        hash(own)
        return own

    def _names(self, given: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the columns to write for a row with the given columns, and its non-key columns."""
        unknown = [name for name in given if name not in self._columns]
        if unknown:
            known = ", ".join(sorted(self._columns))
            raise ValueError(
                f"the row has the unknown column {unknown[0]!r}; the table has {known}"
            )
        others = tuple(name for name in given if name not in self._key)
        if len(self._known) > _MOST_FORMS:
            self._known.clear()
        if not given and not self._key:
            raise ValueError("the row has no columns; expected at least one")
        found = self._known[given] = (*self._key, *others), others
        return found


def refused(row: Row, key: tuple[str, ...], reason: str, code: str) -> RefusedRow:
    """Return a rejected row; its dead letter has the row as JSON."""
    own = dict(zip(key, row.key, strict=False)) if key else None
    has = dict(zip(row.names, row.values, strict=True)) if row.names else None
    return refused_row(row.number, row.record, reason, code, key=own, value=has)
