"""The contract of an aggregator's column form."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.columns.running import Merging, running
from kstreams.columns.runs import Runs
from kstreams.columns.values import ValueColumn
from kstreams.serde.base import Serde
from kstreams.serde.layout import Columns

__all__ = ("AnyOrder", "ColumnForm", "column_form", "keeps_objects")


class ColumnForm(Protocol):
    """An aggregator's operations on columns; states are columns of numbers or of objects.

    A run is a range of consecutive rows that are aggregated together. A state has the columns of
    the layout of its serde (`fixed_layout`), in order. A state of a form with `of_objects` is one
    column of Python objects. Results equal those of aggregation by record, bit for bit. Integers
    that do not fit into int64 are in columns of Python integers.
    """

    @property
    def exact(self) -> bool:
        """Return whether merges give the same state in any order; sums of doubles do not.

        Inexact merges run from left to right, in the order of records, in `reduce` and `scan`.
        """
        ...

    @property
    def reads_values(self) -> bool:
        """Return whether the form reads values; if not, values are not decoded."""
        ...

    def lift(self, values: ValueColumn, times: npt.NDArray[np.int64]) -> Columns:
        """Return a state for each record.

        Args:
            values: The values of the records.
            times: The timestamps of the records, ms.
        """
        ...

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """Return the state of each run: the states of its rows, merged in the order of arrival."""
        ...

    def scan(self, state: Columns, runs: Runs) -> Columns:
        """Return the state of each row merged with all earlier rows of its run."""
        ...

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """Merge states row by row; `earlier` contains the states of earlier records."""
        ...

    def result(self, state: Columns) -> pa.Array:
        """Return the results, as an Arrow column.

        Raises:
            SerializationError: An integer does not fit into int64.
        """
        ...


class AnyOrder:
    """Base class of column forms whose merges give the same state in any order."""

    exact = True

    def scan(self: Merging, state: Columns, runs: Runs) -> Columns:
        """Return each row's state merged with the earlier states of its run; see `ColumnForm`."""
        return running(self, state, runs)


def column_form(aggregator: object, value: Serde[Any]) -> ColumnForm | None:
    """Return the column form of an aggregator for values of a serde; None if there is none."""
    columns = getattr(aggregator, "columns", None)
    found: ColumnForm | None = None if columns is None else columns(value)
    return found


def keeps_objects(form: ColumnForm) -> bool:
    """Return whether a form's state is one column of objects, which the state's serde encodes."""
    return getattr(form, "of_objects", False)
