"""Changes of two tables, and the row of the other one that each of them meets."""

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
from kstreams.serde.held_objects import HeldObjects
from kstreams.serde.objects import object_column, objects_of
from kstreams.state.stores.table_access import Row

__all__ = ("TableMeeting", "TableSide")

_ORDER = (PLACE, STREAM_TIME)
"""Columns of the tables that are forwarded while records arrive, not at the end of a batch."""


@dataclass
class TableSide:
    """Changes of one table, and how it is read.

    Attributes:
        rows_of: Reads rows, where all these changes are put already.
        alone: Whether its rows without a partner give a result.
    """

    rows_of: RowsOf
    alone: bool
    taken: list[Changes] = field(default_factory=list)
    old_times: list[Ints] = field(default_factory=list)
    order: dict[str, list[Ints]] = field(default_factory=dict)

    def take(self, table: pa.Table) -> None:
        """Take changes."""
        self.taken.append(Changes.of(table))
        self.old_times.append(table.column(OLD_TIME).to_numpy())
        for name in _ORDER:
            if name in table.column_names:
                self.order.setdefault(name, []).append(table.column(name).to_numpy())

    def history(
        self, changes: Changes, codes: Ints, places: Ints, keys_of: Callable[[Ints], list[Any]]
    ) -> RowHistory:
        """Return the rows of the table at any place.

        Args:
            changes: All taken changes.
            codes: The numbers of their keys.
            places: The places of the changes.
            keys_of: Returns keys by their numbers.
        """

        def read(asked: Ints) -> Sequence[Row | None]:
            return self.rows_of(keys_of(asked))

        old_times = np.concatenate((places[:0], *self.old_times))
        return RowHistory(changes, old_times, codes, places, read)


@dataclass(frozen=True)
class TableMeeting:
    """Changes of both tables as columns.

    Attributes:
        keys: The keys.
        is_left: Which changes belong to the left table.
        alone: Which changes have a result without a partner, by the kind of the joiner.
        news: The new values.
        olds: The old values.
        partners: The values of the other table at that place; None without a row.
        times: The later one of both times, ms.
        order: The columns of `_ORDER`.
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
    def of(cls, left: TableSide, right: TableSide, held: HeldObjects) -> TableMeeting:
        """Return all taken changes, left ones first.

        Args:
            left: The left changes.
            right: The right changes; without places only one side has changes.
            held: Holds keys without an Arrow type.
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

    def that_speak(self) -> Ints:
        """Return the rows that give a result, in the order of their places."""
        speaks = there(self.partners) | self.alone & (there(self.news) | there(self.olds))
        if PLACE not in self.order:
            return np.flatnonzero(speaks)
        rows = np.argsort(self.order[PLACE], kind="stable")
        return rows[speaks[rows]]

    def taken(self, rows: Ints) -> TableMeeting:
        """Return some rows."""
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
        """Return all but the values."""
        return pa.table({"key": self.keys, "timestamp": self.times, **self.order})

    def values(self) -> tuple[Objects, Objects]:
        """Return left and right values from then on and up to then, in turn; None for no row."""
        own, theirs = both(self.news, self.olds), np.repeat(self.partners, 2)
        is_left = np.repeat(self.is_left, 2)
        return np.where(is_left, own, theirs), np.where(is_left, theirs, own)
