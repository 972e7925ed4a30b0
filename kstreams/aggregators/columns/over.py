"""The column form of `over`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kstreams.aggregators.columns.form import ColumnForm, keeps_objects
from kstreams.columns.values import ValueColumn
from kstreams.serde.layout import Columns

__all__ = ("OverForm",)


class OverForm:
    """The column form of `over`.

    Args:
        part: Converts a column of values to the column of their aggregated parts.
        form: The column form of the aggregator of the parts.
    """

    reads_values = True

    def __init__(self, part: Callable[[ValueColumn], ValueColumn], form: ColumnForm) -> None:
        self._part = part
        self._form = form
        self.exact = form.exact
        self.of_objects = keeps_objects(form)
        self.reduce = form.reduce
        self.scan = form.scan
        self.merge = form.merge
        self.result = form.result

    def lift(self, values: ValueColumn, times: npt.NDArray[np.int64]) -> Columns:
        """Return a state for each record; see `ColumnForm`."""
        return self._form.lift(self._part(values), times)
