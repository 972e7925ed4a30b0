"""The column form of `combine` with named aggregators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.aggregators.columns.combine import CombineForm
from kstreams.columns.runs import Runs
from kstreams.columns.values import ValueColumn
from kstreams.serde.layout import Columns
from kstreams.serde.object_type import ObjectType
from kstreams.serde.objects import objects_of

__all__ = ("NamedForm",)


class NamedForm:
    """The column form of `combine(name=aggregator, ...)`: wraps the form of `combine`.

    Args:
        form: The column form of the combined aggregators.
        names: The names of the aggregators.
        make: Creates the named result from the aggregators' results.
    """

    def __init__(
        self, form: CombineForm, names: Sequence[str], make: Callable[[Sequence[Any]], object]
    ) -> None:
        self._form = form
        self._names = names
        self._make = make
        self._type: _NamedType | None = None
        self.reads_values = form.reads_values
        self.exact = form.exact

    def lift(self, values: ValueColumn, times: npt.NDArray[np.int64]) -> Columns:
        """Return a state for each record; see `ColumnForm`."""
        return self._form.lift(values, times)

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """Return the merged state of each run of rows; see `ColumnForm`."""
        return self._form.reduce(state, runs)

    def scan(self, state: Columns, runs: Runs) -> Columns:
        """Return each row's state merged with the earlier states of its run; see `ColumnForm`."""
        return self._form.scan(state, runs)

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """Merge earlier and later states row by row; see `ColumnForm`."""
        return self._form.merge(earlier, later)

    def result(self, state: Columns) -> pa.Array:
        """Return the results of states as an Arrow column; see `ColumnForm`."""
        results = self._form.results(state)
        kinds = [result.type for result in results]
        if self._type is None or self._type.kinds != kinds:
            self._type = _NamedType(self._names, kinds, self._make)  # Arrow keeps no type alive
        return self._type.of(*results)


class _NamedType(ObjectType):
    """The extension type of named results.

    Args:
        names: The names of the results.
        kinds: The types of the results.
        make: Creates the named result of a row from its results.
    """

    def __init__(
        self,
        names: Sequence[str],
        kinds: list[pa.DataType],
        make: Callable[[Sequence[Any]], object],
    ) -> None:
        super().__init__(pa.struct(list(zip(names, kinds, strict=True))), "kstreams.named")
        self.kinds = kinds
        self._make = make

    def objects(self, storage: pa.StructArray) -> list[Any]:
        """Convert rows of the storage to named results."""
        rows = zip(*map(objects_of, storage.flatten()), strict=True)
        return [self._make(row) for row in rows]
