"""The column form of `combine`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.aggregators.columns.form import ColumnForm
from kstreams.columns.running import running
from kstreams.columns.runs import Runs
from kstreams.columns.values import ValueColumn
from kstreams.serde.layout import Columns
from kstreams.serde.object_type import TupleType

__all__ = ("CombineForm",)


class CombineForm:
    """The column form of `combine`.

    Args:
        parts: The column form of each aggregator, and the number of columns of its state.
    """

    def __init__(self, parts: Sequence[tuple[ColumnForm, int]]) -> None:
        self._forms = [form for form, _ in parts]
        ends = np.cumsum([width for _, width in parts]).tolist()
        self._slices = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]
        self.reads_values = any(form.reads_values for form in self._forms)
        self.exact = all(form.exact for form in self._forms)

    def lift(self, values: ValueColumn, times: npt.NDArray[np.int64]) -> Columns:
        """Return a state for each record; see `ColumnForm`."""
        return tuple(c for form in self._forms for c in form.lift(values, times))

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """Return the merged state of each run of rows; see `ColumnForm`."""
        return tuple(c for form, own in self._own(state) for c in form.reduce(own, runs))

    def scan(self, state: Columns, runs: Runs) -> Columns:
        """Return each row's state merged with the earlier states of its run; see `ColumnForm`."""
        if self.exact:
            return running(self, state, runs)
        return tuple(c for form, own in self._own(state) for c in form.scan(own, runs))

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """Merge earlier and later states row by row; see `ColumnForm`."""
        pairs = zip(self._own(earlier), self._own(later), strict=True)
        return tuple(c for (form, one), (_, two) in pairs for c in form.merge(one, two))

    def result(self, state: Columns) -> pa.Array:
        """Return the results of states as an Arrow column; see `ColumnForm`."""
        results = self.results(state)
        return TupleType(*(result.type for result in results)).of(*results)

    def results(self, state: Columns) -> list[pa.Array]:
        """Return the results of each aggregator, one column each."""
        return [form.result(own) for form, own in self._own(state)]

    def _own(self, state: Columns) -> list[tuple[ColumnForm, Columns]]:
        return [(f, state[place]) for f, place in zip(self._forms, self._slices, strict=True)]
