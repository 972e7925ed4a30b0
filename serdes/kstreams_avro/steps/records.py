"""Steps of records: the writer's fields in order, and defaults for missing ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from typing_extensions import override

from kstreams_avro.datum import MAX_DEPTH, Malformed, TooDeepError
from kstreams_avro.nodes import Shape
from kstreams_avro.steps.cursor import Cursor
from kstreams_avro.steps.step import Read, Step

__all__ = ("DefaultStep", "RecordStep", "maker")

_MAKING = (TypeError, ValueError, LookupError, ArithmeticError)
"""Exceptions of classes that reject their values."""


class DefaultStep(Step):
    """Returns the default of a field that the writer does not have, and reads no bytes.

    Args:
        step: Reads data of the reader's own schema.
        data: The default, encoded with the reader's schema.
    """

    least = 0

    def __init__(self, step: Step, data: bytes) -> None:
        self.arrow = step.arrow
        self._step = step
        self._data = data
        read_default = step.read

        def read(_: bytes, place: int, depth: int) -> tuple[Any, int]:
            return read_default(data, 0, depth)[0], place  # a new one each time: it may change

        self.read: Read = read

    def column(self, cursor: Cursor) -> pa.Array:
        """Return the default for each row."""
        once = self._step.column(Cursor.over(pa.array([self._data], pa.binary())))
        return once.take(pa.array(np.zeros(len(cursor), np.int64)))

    def skip(self, cursor: Cursor) -> None:
        """Do nothing."""


class RecordStep(Step):
    """Reads records, or some fields of records.

    `fill` sets the steps of the fields after the creation, because a record may contain itself.

    Args:
        names: The reader's fields, in their order.
        shape: The class of the values; None for dicts.
        least: The minimum number of bytes of a record.
    """

    def __init__(self, names: Sequence[str], shape: Shape | None, least: int) -> None:
        self._names = tuple(names)
        self._room: list[Any] = [None] * (len(self._names) + 1)  # the last is for the unwanted
        self._reads: tuple[tuple[str, int, Read], ...] = ()
        self._make = maker(self._names, shape)
        self._parts: tuple[tuple[str, int, Step], ...] | None = None
        self.arrow = None
        self.passable = False
        self.least = least

    def fill(self, parts: Iterable[tuple[str, Step, bool]], *, recursive: bool) -> None:
        """Set the steps of the fields.

        Args:
            parts: Name and step of each field in the order of the bytes, and whether the field is
                part of the result.
            recursive: Whether the record can contain itself; it then has no columns.
        """
        places = {name: place for place, name in enumerate(self._names)}
        self._parts = tuple(
            (name, places[name] if wanted else -1, step) for name, step, wanted in parts
        )
        self._reads = tuple((name, place, step.read) for name, place, step in self._parts)
        self.passable = not recursive and all(step.passable for _, _, step in self._parts)
        kinds = {place: step.arrow for _, place, step in self._parts if place >= 0}
        known = all(kind is not None for kind in kinds.values())
        if known and not recursive and self._passes_over_others():
            fields = [pa.field(name, kinds[place]) for name, place in places.items()]
            self.arrow = pa.struct(fields)

    def _passes_over_others(self) -> bool:
        return all(step.passable for _, place, step in self._parts or () if place < 0)

    def read(self, data: bytes, place: int, depth: int) -> tuple[Any, int]:
        """Read the record at an offset; return the record and the offset after it.

        Args:
            data: The bytes.
            place: The offset where the record begins.
            depth: The number of enclosing records.
        """
        if depth >= MAX_DEPTH:
            raise TooDeepError
        depth += 1
        values = self._room.copy()
        name = ""
        try:
            for name, number, read in self._reads:  # noqa: B007  # names what fails
                values[number], place = read(data, place, depth)
        except IndexError:
            raise Malformed("the data is cut short").within(name) from None
        except Malformed as exc:
            raise exc.within(name) from None
        except ValueError as exc:  # a constructor rejects the values
            raise Malformed(str(exc)).within(name) from exc
        values.pop()
        try:
            return self._make(values), place
        except _MAKING as exc:
            raise Malformed(str(exc)) from exc

    @override
    def column(self, cursor: Cursor) -> pa.Array:
        columns: list[pa.Array] = [None] * len(self._names)
        for _, number, step in self._parts or ():
            if number >= 0:
                columns[number] = step.column(cursor)
            else:
                step.skip(cursor)
        if not columns:
            return pa.array([{}] * len(cursor), self.arrow)
        return pa.StructArray.from_arrays(columns, self._names)

    @override
    def skip(self, cursor: Cursor) -> None:
        for _, _, step in self._parts or ():
            step.skip(cursor)

    def only(self, name: str) -> RecordStep | None:
        """Return a step that reads only one field of the record; None if it has no column."""
        if name not in self._names:
            return None
        part = RecordStep((name,), None, self.least)
        parts = [
            (each, step, each == name and number >= 0) for each, number, step in self._parts or ()
        ]
        part.fill(parts, recursive=False)
        return None if part.arrow is None else part


def maker(names: Sequence[str], shape: Shape | None) -> Callable[[Sequence[Any]], Any]:
    """Return a function that creates a record from the values of its fields."""
    if shape is None or shape.cls is dict:
        keys = names if shape is None else shape.attributes
        return lambda values: dict(zip(keys, values, strict=True))
    cls, attributes = shape.cls, shape.attributes
    if shape.by_position:
        return lambda values: cls(*values)
    return lambda values: cls(**dict(zip(attributes, values, strict=True)))
