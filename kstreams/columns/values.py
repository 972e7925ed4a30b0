"""The values of a batch, decoded lazily."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.columns.row_failure import called
from kstreams.errors import ProcessingError
from kstreams.serde.base import Serde
from kstreams.serde.carried import carried_fields, carried_objects
from kstreams.serde.numbers import DOUBLE, INT32, INT64
from kstreams.serde.objects import object_column

__all__ = ("PartColumn", "ValueColumn", "is_number", "wide")


def is_number(serde: Serde[Any], *, whole: bool = False) -> bool:
    """Return whether a serde encodes int32, int64 or (unless `whole`) double values."""
    return serde in ((INT32, INT64) if whole else (INT32, INT64, DOUBLE))


class ValueColumn:
    """A column of record values, decoded when needed.

    Args:
        data: The values as an Arrow array, a result of `carried`: decoded or still encoded.
        serde: Serde of the values.
    """

    def __init__(self, data: pa.Array, serde: Serde[Any]) -> None:
        self.data = data
        self.serde = serde

    def numbers(self) -> npt.NDArray[Any]:
        """Return the values as int64 or float64; as Python integers if int64 cannot hold them.

        Raises:
            ProcessingError: A value is null.
        """
        if self.data.null_count:
            raise _null_value()
        if isinstance(self.data.type, pa.BaseExtensionType):
            return _numbers(self.objects())
        numbers: npt.NDArray[Any] = self.data.to_numpy(zero_copy_only=False)
        return numbers.astype(np.int64) if numbers.dtype.kind == "i" else numbers

    def doubles(self) -> npt.NDArray[np.float64]:
        """Return the values as float64, without -0.0; errors as in `numbers`."""
        return np.asarray(self.numbers() + 0.0, np.float64)

    def take(self, rows: npt.NDArray[np.int64]) -> ValueColumn:
        """Return the values of the given rows."""
        return ValueColumn(self.data.take(pa.array(rows)), self.serde)

    def field(self, name: str, number: Serde[Any]) -> ValueColumn:
        """Return one numeric field of each value, without decoding the other fields."""
        return ValueColumn(self.serde.field(self._fields, name, number.arrow_type), number)

    def fields(self, kinds: Mapping[str, pa.DataType]) -> dict[str, pa.Array]:
        """Return several fields of each value, by name, without decoding the other fields.

        Args:
            kinds: The names of the fields, and the types of their columns.

        Raises:
            DeserializationError: The serde cannot read a value, or a field is of another type.
        """
        return self.serde.read_fields(self._fields, kinds)

    def objects(self) -> list[Any]:
        """Return the values as objects.

        Raises:
            DeserializationError: The serde cannot read a value.
        """
        return carried_objects(self.serde, self.data)

    def parts(self, part: Callable[[Any], Any]) -> PartColumn:
        """Return the results of a function for each record value.

        Args:
            part: The function; it may be code of the user.

        Raises:
            DeserializationError: The serde cannot read a value.
            RowFailure: The function raised an exception; the failure has the number of the row.
        """
        return PartColumn(self.data, self.serde, called(part, self.objects()))

    @cached_property
    def _fields(self) -> pa.Array:
        """The Arrow data of the values, decoded once for all calls of `field`."""
        return carried_fields(self.serde, self.data)


class PartColumn(ValueColumn):
    """The results of a function for record values, available only as objects.

    Args:
        data: The record values that the function was called with.
        serde: Serde of the record values.
        parts: The function's result for each value.
    """

    def __init__(self, data: pa.Array, serde: Serde[Any], parts: list[Any]) -> None:
        super().__init__(data, serde)
        self._parts = parts

    def numbers(self) -> npt.NDArray[Any]:
        """Return the results as numbers; see `ValueColumn.numbers`."""
        return _numbers(self._parts)

    def objects(self) -> list[Any]:
        """Return the results of the function."""
        return self._parts


def _numbers(objects: list[Any]) -> npt.NDArray[Any]:
    """Return Python numbers as int64 or float64; integers that int64 cannot hold stay objects."""
    if None in objects:
        raise _null_value()
    try:
        column = pa.array(objects, pa.float64() if float in set(map(type, objects)) else pa.int64())
    except OverflowError:
        return object_column(objects)
    numbers: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return numbers


def _null_value() -> ProcessingError:
    return ProcessingError(
        "an aggregator of numbers received a null value",
        hint="drop null values in the source (nulls='drop'), or filter them before the "
        "aggregation.",
    )


def wide(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert int32 to int64; return any other column unchanged."""
    return column.astype(np.int64) if column.dtype == np.int32 else column
