"""Columns of objects that Arrow has no type for, within one process and batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kstreams.serde.object_type import ObjectType
from kstreams.serde.objects import objects_of

__all__ = ("HeldObjects", "is_held")

_PLAIN: dict[type, pa.DataType] = {str: pa.string(), bytes: pa.binary(), bool: pa.bool_()}


class HeldObjects:
    """Makes columns of any objects; holds those that have no column type of their own.

    Their columns are good until `clear`.
    """

    def __init__(self) -> None:
        self._types: list[_HeldType] = []  # Arrow itself knows them by weak references

    def column(self, values: list[Any]) -> pa.Array:
        """Return a column of which `objects_of` makes the same objects.

        Text, bytes, bools, floats and 64-bit integers, all of one type or None, become a
        column of it.
        """
        types = set(map(type, values))
        types.discard(type(None))
        if not types:
            return pa.nulls(len(values))
        kind = next(iter(types))
        if len(types) == 1 and kind in _PLAIN:
            return pa.array(values, _PLAIN[kind])
        if types == {float} and None not in values:
            return pa.array(values, pa.float64())
        if types == {int}:
            try:
                return pa.array(values, pa.int64())
            except OverflowError:
                pass
        return self._held(values)

    def clear(self) -> None:
        """Let go of the objects: nobody looks at their columns any more."""
        self._types.clear()

    def _held(self, values: list[Any]) -> pa.Array:
        kind = _HeldType(values)
        self._types.append(kind)
        places = [None if value is None else place for place, value in enumerate(values)]
        return pa.ExtensionArray.from_storage(kind, pa.array(places, pa.int64()))


class _HeldType(ObjectType):
    """Places in a list of objects: rows are taken and left out without touching them."""

    def __init__(self, held: Sequence[Any]) -> None:
        self._held = held
        pa.ExtensionType.__init__(self, pa.int64(), "kstreams.held")

    def objects(self, storage: pa.Array) -> list[Any]:
        """Return the objects."""
        held = self._held
        return [None if place is None else held[place] for place in objects_of(storage)]

    def __eq__(self, other: object) -> bool:
        """Compare by identity: places mean something in one list alone."""
        return self is other

    def __hash__(self) -> int:
        """Hash by identity."""
        return id(self)


def is_held(kind: pa.DataType) -> bool:
    """Return whether a column's type is good for its own objects alone."""
    return isinstance(kind, _HeldType)
