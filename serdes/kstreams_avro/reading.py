"""Reads data of a writer's schema as values or columns of a reader's schema."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kstreams.errors import DeserializationError
from kstreams.serde import objects_of
from kstreams_avro.datum import Datum, Malformed
from kstreams_avro.nodes import Node, Record
from kstreams_avro.objects import objects_from
from kstreams_avro.resolution import resolve
from kstreams_avro.steps.cursor import Cursor, taken
from kstreams_avro.steps.plain import plain_array
from kstreams_avro.steps.records import RecordStep
from kstreams_avro.steps.step import Step

__all__ = ("Reading",)

_SHOWN_BYTES = 40
_FEW = 16
"""Up to this number of values, values are created one by one instead of by columns."""


class Reading:
    """Creates values of one type from data of one schema.

    Args:
        name: The name of the serde, for errors.
        writer: The schema of the data.
        reader: The schema of the values, without classes; used for columns.
        bound: The schema of the values, with their classes; used for objects.

    Attributes:
        arrow_type: The type of columns; `binary` without columns.
        names: The schema's field name of each attribute of the values, by attribute.

    Raises:
        Malformed: The reader cannot read the writer's data.
    """

    def __init__(self, name: str, writer: Node, reader: Node, bound: Node) -> None:
        self._name = name
        self._one = resolve(writer, bound)
        self._plain = resolve(writer, reader)
        own = resolve(reader, reader).arrow
        checked = resolve(bound, bound).arrow is None  # types that allow less than schemas
        self.arrow_type: pa.DataType = pa.binary() if own is None or checked else own
        self._columnar = own is not None and not checked and self._plain.arrow == own
        self._objects = objects_from(bound) if self._columnar else None
        self._fields: dict[str, Step | None] = {}
        shape = bound.shape if isinstance(bound, Record) else None
        fields = bound.fields if isinstance(bound, Record) else ()
        self.names = {
            attribute: field.name
            for attribute, field in zip(shape.attributes if shape else (), fields, strict=False)
        }

    def one(self, data: bytes) -> Datum:
        """Deserialize one value.

        Raises:
            DeserializationError: The data does not match the writer's schema.
        """
        return self._read(self._one, data)

    def _read(self, step: Step, data: bytes) -> Datum:
        try:
            value, end = step.read(data, 0, 0)
            if end == len(data):
                return value
            problem = f"{len(data) - end} bytes are left over"
        except IndexError:
            problem = "the data is cut short"
        except (ValueError, RecursionError) as exc:
            problem = str(exc)
        raise DeserializationError(
            f"expected {self._name}: {problem}; got {bytes(data[:_SHOWN_BYTES])!r}"
        )

    def many(self, data: pa.Array) -> list[Any] | None:
        """Return the values of a column of bytes; None if they must be read one by one."""
        if self._objects is None or len(data) < _FEW:
            return None
        try:
            return self._objects(self._column(self._plain, data))
        except (ValueError, TypeError, LookupError, ArithmeticError):
            return None  # one of them is wrong: which one shows one by one

    def column(self, data: pa.Array) -> pa.Array:
        """Decode a column of bytes to a column of `arrow_type`.

        Raises:
            DeserializationError: A value does not match the writer's schema.
        """
        if self._columnar:
            try:
                return self._column(self._plain, data)
            except Malformed:
                pass
        plain = [
            None if each is None else self._read(self._plain, each) for each in objects_of(data)
        ]
        return plain_array(plain, self.arrow_type)

    def field(self, data: pa.Array, name: str) -> pa.Array | None:
        """Decode only one field to a column; None if that is impossible or the data is invalid."""
        if name not in self._fields:
            step = self._plain
            found = step.only(name) if isinstance(step, RecordStep) else None
            self._fields[name] = found if self.arrow_type != pa.binary() else None
        part = self._fields[name]
        if part is None:
            return None
        try:
            return self._column(part, data).field(0)
        except Malformed:
            return None

    def objects(self, column: pa.Array) -> list[Any] | None:
        """Return the values of a column of `arrow_type`; None for a column of another type."""
        if self._objects is None or column.type != self.arrow_type:
            return None
        return self._objects(column)

    def _column(self, step: Step, data: pa.Array) -> pa.Array:
        """Decode the non-null values; null stays null."""
        dense = data.drop_null() if data.null_count else data
        cursor = Cursor.over(dense)
        found = step.column(cursor)
        cursor.finish()
        if len(dense) == len(data):
            return found
        valid = data.is_valid().to_numpy(zero_copy_only=False)
        return taken(found, np.flatnonzero(valid), len(data))
