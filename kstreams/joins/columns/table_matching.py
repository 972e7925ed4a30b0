"""Match the changes of two tables with the other table's rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams._types import Bools, Ints, Objects
from kstreams.joins.columns.both_values import both, there
from kstreams.joins.columns.changes import OLD_TIME, Changes
from kstreams.joins.columns.key_numbers import KeyNumbers
from kstreams.joins.columns.row_history import RowHistory
from kstreams.joins.table_rows import RowsOf
from kstreams.processors.columns import PLACE, STREAM_TIME
from kstreams.serde.object_columns import ObjectColumns
from kstreams.serde.objects import object_column, objects_of
from kstreams.state.stores.table_access import Row

__all__ = ("TableMeeting", "TableSide")

_ORDER = (PLACE, STREAM_TIME)
"""Columns that a forwarded table has while records arrive, but not at the end of a batch."""


@dataclass
class TableSide:
    """The buffered changes of one table, and access to its rows.

    Attributes:
        rows_of: Reads the table's rows, after all buffered changes have been put.
        alone: Whether rows of this table without a partner give a result.
    """

    rows_of: RowsOf
    alone: bool
    taken: list[Changes] = field(default_factory=list)
    old_times: list[Ints] = field(default_factory=list)
    order: dict[str, list[Ints]] = field(default_factory=dict)

    def take(self, table: pa.Table) -> None:
        """Buffer a table of changes."""
        self.taken.append(Changes.of(table))
        self.old_times.append(table.column(OLD_TIME).to_numpy())
        for name in _ORDER:
            if name in table.column_names:
                self.order.setdefault(name, []).append(table.column(name).to_numpy())

    def history(
        self, changes: Changes, codes: Ints, places: Ints, keys_of: Callable[[Ints], list[Any]]
    ) -> RowHistory:
        """Return the history of the table's rows during the batch.

        Args:
            changes: All buffered changes of the table.
            codes: The key number of each change.
            places: The batch position of each change.
            keys_of: Returns keys by their numbers.
        """

        def read(asked: Ints) -> Sequence[Row | None]:
            return self.rows_of(keys_of(asked))

        old_times = np.concatenate((places[:0], *self.old_times))
        return RowHistory(changes, old_times, codes, places, read)


@dataclass(frozen=True)
class TableMeeting:
    """Changes of both tables with their partners, as columns.

    Attributes:
        keys: The key of each change.
        is_left: Whether a change belongs to the left table.
        alone: Whether a change has a result without a partner; depends on the kind of joiner.
        news: The new values.
        olds: The old values.
        partners: The other table's value at each change's position; None for no row.
        times: The later time of the change and its partner, ms.
        order: The batch positions and stream times of the changes; empty if the inputs forwarded
            the changes only at the end of the batch.
    """

    keys: pa.Array
    is_left: Bools
    alone: Bools
    news: Objects
    olds: Objects
    partners: Objects
    times: Ints
    order: dict[str, Ints]

    @classmethod
    def of(cls, left: TableSide, right: TableSide, held: ObjectColumns) -> TableMeeting:
        """Match all buffered changes with their partners; left changes come first.

        Args:
            left: The left table.
            right: The right table. If both have changes, the changes have batch positions.
            held: Holds keys that have no Arrow type.
        """
        lefts, rights = Changes.joined(left.taken, held), Changes.joined(right.taken, held)
        count = len(lefts.times)
        changes = Changes.joined([each for each in (lefts, rights) if len(each.times)], held)
        is_left = np.arange(len(changes.times)) < count
        order = {}
        for name in _ORDER:
            if parts := [*left.order.get(name, ()), *right.order.get(name, ())]:
                order[name] = np.concatenate(parts)
        both_change = 0 < count < len(is_left)
        places = order[PLACE] if both_change else np.zeros(len(is_left), np.int64)
        numbers = KeyNumbers.of(changes.keys)
        codes, first = numbers.codes, numbers.first

        def keys_of(asked: Ints) -> list[Any]:
            return objects_of(changes.keys.take(pa.array(first[asked])))

        left_rows = left.history(lefts, codes[:count], places[:count], keys_of)
        right_rows = right.history(rights, codes[count:], places[count:], keys_of)
        of_left = right_rows.at(codes[:count], places[:count])
        of_right = left_rows.at(codes[count:], places[count:])
        partners = np.concatenate((of_left[0], of_right[0]))
        met_at = np.concatenate((of_left[1], of_right[1]))
        times = changes.times
        return cls(
            changes.keys,
            is_left,
            np.where(is_left, left.alone, right.alone),
            object_column(changes.news),
            object_column(changes.olds),
            partners,
            np.where(there(partners), np.maximum(times, met_at), times),
            order,
        )

    def with_results(self) -> Ints:
        """Return the indexes of the changes that have a result, ordered by batch position."""
        has_result = there(self.partners) | self.alone & (there(self.news) | there(self.olds))
        if PLACE not in self.order:
            return np.flatnonzero(has_result)
        rows = np.argsort(self.order[PLACE], kind="stable")
        return rows[has_result[rows]]

    def taken(self, rows: Ints) -> TableMeeting:
        """Return the changes at the given rows."""
        return TableMeeting(
            self.keys.take(pa.array(rows)),
            self.is_left[rows],
            self.alone[rows],
            self.news[rows],
            self.olds[rows],
            self.partners[rows],
            self.times[rows],
            {name: column[rows] for name, column in self.order.items()},
        )

    def table(self) -> pa.Table:
        """Return the keys, times and order columns as an Arrow table."""
        return pa.table({"key": self.keys, "timestamp": self.times, **self.order})

    def values(self) -> tuple[Objects, Objects]:
        """Return the left and the right values; in each, the new and old values alternate.

        A value is None if there is no row.
        """
        own, theirs = both(self.news, self.olds), np.repeat(self.partners, 2)
        is_left = np.repeat(self.is_left, 2)
        return np.where(is_left, own, theirs), np.where(is_left, theirs, own)
