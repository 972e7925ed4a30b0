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
    """What an aggregator does to columns; states are columns of numbers, or of objects.

    The columns of a state are those of its serde's layout (`fixed_layout`), in order; a form with
    `of_objects` has one, of Python's objects.
    Equal to what the aggregator makes record by record, bit for bit; integers are columns
    of Python's where int64 does not hold them.
    """

    @property
    def exact(self) -> bool:
        """Return whether states merge to the same in any order; doubles that add up do not.

        Where they do not, `reduce` and `scan` go from left to right, as records do.
        """
        ...

    @property
    def reads_values(self) -> bool:
        """Return whether values are looked at: if not, they are not even decoded."""
        ...

    def lift(self, values: ValueColumn, times: npt.NDArray[np.int64]) -> Columns:
        """Return a state for each record."""
        ...

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """Return the state of each run of records' states, in order of arrival."""
        ...

    def scan(self, state: Columns, runs: Runs) -> Columns:
        """Return the state of each row merged with all before it in its run."""
        ...

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """Merge states row by row; `earlier` came first."""
        ...

    def result(self, state: Columns) -> pa.Array:
        """Return the results, as a column of Arrow.

        Raises:
            SerializationError: A number is no int64.
        """
        ...


class AnyOrder:
    """Part of the forms whose states merge to the same in any order."""

    exact = True

    def scan(self: Merging, state: Columns, runs: Runs) -> Columns:
        """See `ColumnForm`."""
        return running(self, state, runs)


def column_form(aggregator: object, value: Serde[Any]) -> ColumnForm | None:
    """Return the column form of an aggregator of such values, or None if there is none."""
    columns = getattr(aggregator, "columns", None)
    found: ColumnForm | None = None if columns is None else columns(value)
    return found


def keeps_objects(form: ColumnForm) -> bool:
    """Return whether a form's states are one column of objects, encoded by the state's serde."""
    return getattr(form, "of_objects", False)
