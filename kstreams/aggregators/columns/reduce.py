"""The column form of `reducing`, and of extremes of non-numeric values; states are objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.columns.row_failure import called, combined, folded
from kstreams.columns.runs import Runs
from kstreams.columns.values import ValueColumn
from kstreams.serde.base import Serde
from kstreams.serde.carried import stays_bytes
from kstreams.serde.encoded_type import EncodedType
from kstreams.serde.layout import Columns
from kstreams.serde.objects import object_column

__all__ = ("ReducingForm", "reducing_form")


class ReducingForm:
    """The column form of `reducing`; the state is one column of Python objects.

    The function is called for the same pairs, in the same order, as in aggregation by records.

    Args:
        function: Combines two values.
        state: Serde of the states.
    """

    reads_values = True
    exact = False
    of_objects = True

    def __init__(self, function: Callable[[Any, Any], Any], state: Serde[Any]) -> None:
        self._function = function
        self._state = state
        self._encoded = EncodedType(state) if stays_bytes(state) else None

    def lift(self, values: ValueColumn, times: npt.NDArray[np.int64]) -> Columns:
        """Return a state for each record; see `ColumnForm`."""
        return (object_column(values.objects()),)

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """Return the merged state of each run of rows; see `ColumnForm`."""
        found = state[0][runs.firsts]
        for run in np.flatnonzero(runs.lengths > 1).tolist():
            found[run] = folded(self._function, *self._rows(state[0], runs, run))
        return (found,)

    def scan(self, state: Columns, runs: Runs) -> Columns:
        """Return each row's state merged with the earlier states of its run; see `ColumnForm`."""
        found = state[0].copy()
        for run in np.flatnonzero(runs.lengths > 1).tolist():
            rows, first = self._rows(state[0], runs, run)
            found[first : first + len(rows)] = object_column(combined(self._function, rows, first))
        return (found,)

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """Merge earlier and later states row by row; see `ColumnForm`."""
        return (object_column(called(self._function, earlier[0].tolist(), later[0].tolist())),)

    def result(self, state: Columns) -> pa.Array:
        """Return the results of states as an Arrow column; see `ColumnForm`."""
        values = state[0].tolist()
        if self._encoded is not None:
            return self._encoded.column(values)
        return self._state.to_arrow(self._state.serialize_many(values))

    def _rows(self, column: npt.NDArray[Any], runs: Runs, run: int) -> tuple[list[Any], int]:
        """Return the items of a run's rows, and the row number of the run's first row."""
        first = int(runs.firsts[run])
        return column[first : first + int(runs.lengths[run])].tolist(), first


def reducing_form(
    function: Callable[[Any, Any], Any], state: Serde[Any], value: Serde[Any]
) -> ReducingForm | None:
    """Return the column form; None if states are mutable, or their serde is not the values'."""
    if value != state or (stays_bytes(state) and not state.immutable):
        return None
    return ReducingForm(function, state)
