"""Column forms whose states have timestamps, and the merge with stored states."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kstreams._types import Ints
from kstreams.aggregators.columns.form import ColumnForm, keeps_objects
from kstreams.columns.grouping import Grouped
from kstreams.columns.in_order import seeded
from kstreams.columns.running import replaced, running
from kstreams.columns.runs import Runs
from kstreams.columns.values import ValueColumn
from kstreams.serde.layout import Columns

__all__ = ("StampedForm",)


class StampedForm:
    """A column form whose states begin with a timestamp: the highest of their records."""

    def __init__(self, form: ColumnForm) -> None:
        self._form = form
        self.reads_values = form.reads_values
        self.exact = form.exact
        self.of_objects = keeps_objects(form)

    def lift(self, values: ValueColumn, times: Ints) -> Columns:
        """Return a state for each record; see `ColumnForm`."""
        return (times, *self._form.lift(values, times))

    def reduce(self, state: Columns, runs: Runs) -> Columns:
        """Return the merged state of each run of rows; see `ColumnForm`."""
        return (runs.highest(state[0]), *self._form.reduce(state[1:], runs))

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        """Merge earlier and later states row by row; see `ColumnForm`."""
        stamp = np.maximum(earlier[0], later[0])
        return (stamp, *self._form.merge(earlier[1:], later[1:]))

    def result(self, state: Columns) -> pa.Array:
        """Return the results of states as an Arrow column; see `ColumnForm`."""
        return self._form.result(state[1:])

    def scan(self, state: Columns, runs: Runs) -> Columns:
        """Return each row's state merged with the earlier states of its run; see `ColumnForm`."""
        if self.exact:
            return running(self, state, runs)
        return *running(_Highest(), state[:1], runs), *self._form.scan(state[1:], runs)

    def reduce_onto(self, before: Columns, places: Ints, lifted: Columns, runs: Runs) -> Columns:
        """Return each run's state: its stored state, if any, merged with the states of its rows.

        Args:
            before: The stored states.
            places: The run number of each stored state.
            lifted: The states of the runs' rows.
            runs: The division of the rows into runs; the rows of a run have one state.
        """
        if self.exact or not len(places):
            return self.onto(before, places, self.reduce(lifted, runs))
        return self.reduce(seeded(self.merge, lifted, runs, before, places), runs)

    def onto(self, before: Columns, places: Ints, state: Columns) -> Columns:
        """Merge stored states into the batch's states.

        Args:
            before: The stored states.
            places: The index of the batch's state that belongs to each stored state.
            state: The batch's states.
        """
        if not len(places):
            return state
        merged = self.merge(before, tuple(column[places] for column in state))
        pairs = zip(state, merged, strict=True)
        return tuple(replaced(column, places, new) for column, new in pairs)

    def updates(self, lifted: Columns, groups: Grouped, before: Columns, places: Ints) -> Columns:
        """Return the state after each row, in the original order of the rows.

        Args:
            lifted: The states of the rows, sorted by group.
            groups: The rows' original numbers in sorted order, and their division into groups.
            before: The stored states.
            places: The group number of each stored state.
        """
        state = self.after_each(lifted, groups.runs, before, places)
        return tuple(column[groups.arrival] for column in state)

    def after_each(self, lifted: Columns, runs: Runs, before: Columns, places: Ints) -> Columns:
        """Return the state after each row, which includes the stored state of the row's run.

        Args:
            lifted: The states of the runs' rows.
            runs: The division of the rows into runs; the rows of a run have one state.
            before: The stored states.
            places: The run number of each stored state.
        """
        if not self.exact:
            lifted = seeded(self.merge, lifted, runs, before, places)
        state = self.scan(lifted, runs)
        if self.exact and len(places):
            owner = np.full(len(runs.firsts), -1)
            owner[places] = np.arange(len(places))
            of_row = runs.repeat(owner)
            rows = np.flatnonzero(of_row >= 0)
            state = self.onto(tuple(column[of_row[rows]] for column in before), rows, state)
        return state


class _Highest:
    def merge(self, earlier: Columns, later: Columns) -> Columns:
        return (np.maximum(earlier[0], later[0]),)
