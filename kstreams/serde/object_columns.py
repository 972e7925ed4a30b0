"""Columns of objects that Arrow has no type for, within one process and batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from typing_extensions import override

from kstreams.serde.object_type import ObjectType
from kstreams.serde.objects import objects_of

__all__ = ("ObjectColumns", "lazy_parts", "refers_to_objects")

_PLAIN: dict[type, pa.DataType] = {str: pa.string(), bytes: pa.binary(), bool: pa.bool_()}


class ObjectColumns:
    """Creates columns of any objects, and keeps references to objects that Arrow has no type for.

    The columns are valid until `clear`.
    """

    def __init__(self) -> None:
        self._types: list[_HeldType] = []  # Arrow itself knows them by weak references

    def column(self, values: list[Any]) -> pa.Array:
        """Return a column that `objects_of` converts back to the same objects.

        Text, bytes, bools, floats and 64-bit integers, all of one type or None, become a
        column of that type.
        """
        types = set(map(type, values))
        has_none = type(None) in types
        types.discard(type(None))
        if not types:
            return pa.nulls(len(values))
        kind = next(iter(types))
        if len(types) == 1 and kind in _PLAIN:
            return pa.array(values, _PLAIN[kind])
        if types == {float} and not has_none:
            return pa.array(values, pa.float64())
        if types == {int}:
            try:
                return pa.array(values, pa.int64())
            except OverflowError:
                pass
        missing = np.array([value is None for value in values]) if has_none else None
        return self._held(_HeldType(values), pa.array(np.arange(len(values)), mask=missing))

    def lazy_column(self, make: Callable[..., Any], *parts: list[Any]) -> pa.Array:
        """Return a column of objects that are created only when `objects_of` reads the column.

        Args:
            make: Creates an object; called with one element of each part.
            parts: Lists of equal length; `lazy_parts` returns them without creating objects.
        """
        return self._held(_MadeType(make, parts), pa.array(np.arange(len(parts[0]))))

    def concatenated(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Return the concatenation of several columns."""
        if columns and all(each.type == columns[0].type for each in columns):
            return pa.concat_arrays(columns)
        return self.column([item for each in columns for item in objects_of(each)])

    def clear(self) -> None:
        """Free the kept objects; their columns must not be read afterwards."""
        self._types.clear()

    def _held(self, kind: _HeldType, places: pa.Array) -> pa.Array:
        self._types.append(kind)
        return pa.ExtensionArray.from_storage(kind, places)


class _HeldType(ObjectType):
    """The Arrow type of columns of positions in a list of objects.

    Rows of such a column can be selected without access to the objects.
    """

    def __init__(self, held: Sequence[Any]) -> None:
        self._held = held
        pa.ExtensionType.__init__(self, pa.int64(), "kstreams.held")

    @override
    def objects(self, storage: pa.Array) -> list[Any]:
        return _picked(self._held, storage)

    def __eq__(self, other: object) -> bool:
        """Compare by identity: the numbers in a column are positions in this type's own list."""
        return self is other

    def __hash__(self) -> int:
        """Hash by identity."""
        return id(self)


class _MadeType(_HeldType):
    """The Arrow type of columns of positions in lists of parts.

    Reading such a column creates an object of the parts at each position.
    """

    def __init__(self, make: Callable[..., Any], parts: Sequence[Sequence[Any]]) -> None:
        super().__init__(parts)
        self._make = make

    def parts(self, storage: pa.Array) -> tuple[list[Any], ...]:
        """Return one list for each part, with the part of each row of a column."""
        return tuple(_picked(part, storage) for part in self._held)

    def objects(self, storage: pa.Array) -> list[Any]:
        """Create one object for each row of a column, from the row's parts."""
        return list(map(self._make, *self.parts(storage)))


def refers_to_objects(kind: pa.DataType) -> bool:
    """Return whether a column's type refers to objects of a `ObjectColumns`."""
    return isinstance(kind, _HeldType)


def lazy_parts(column: pa.ChunkedArray) -> tuple[list[Any], ...] | None:
    """Return the parts of a column from `ObjectColumns.lazy_column`; None for any other column."""
    kind = column.type
    return kind.parts(column.combine_chunks().storage) if isinstance(kind, _MadeType) else None


def _picked(held: Sequence[Any], places: pa.Array) -> list[Any]:
    """Return the objects at positions; None for a null position."""
    if places.null_count:
        return [None if place is None else held[place] for place in objects_of(places)]
    numbers = places.to_numpy()
    if len(numbers) and (np.diff(numbers) == 1).all():  # rows that follow each other
        return list(held[numbers[0] : numbers[-1] + 1])
    return list(map(held.__getitem__, numbers.tolist()))
