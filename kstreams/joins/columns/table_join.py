"""Join two tables by columns: changes of both, in the order of their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams._types import Ints
from kstreams.joins.change import Change
from kstreams.joins.columns.changes import OLD_TIME, changes_of, put_rows
from kstreams.joins.joiner import Joiner
from kstreams.joins.table_rows import RowsOf, TableRows
from kstreams.processors.columns import PLACE, STREAM_TIME, ColumnJoinProcessor
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import each_row
from kstreams.serde.held_objects import HeldObjects
from kstreams.serde.objects import objects_of
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_access import Row
from kstreams.state.stores.table_columns import PresentColumns

__all__ = ("TableJoinColumns",)

_ORDER = (PLACE, STREAM_TIME)
"""Columns of what tables forward while records come; not of what they do at a batch's end."""


@dataclass
class _Side:
    """Changes of one table, and how it is read.

    Attributes:
        rows_of: Reads rows, where all these changes are put already.
        alone: Whether its rows without a partner give a result.
    """

    rows_of: RowsOf
    alone: bool
    keys: list[Any] = field(default_factory=list)
    changes: list[Change[Any]] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    old_times: list[int] = field(default_factory=list)
    order: dict[str, list[Ints]] = field(default_factory=dict)

    def take(self, table: pa.Table) -> None:
        """Take changes."""
        keys, changes, times = changes_of(table)
        self.keys += keys
        self.changes += changes
        self.times += times
        self.old_times += objects_of(table.column(OLD_TIME))
        for name in _ORDER:
            if name in table.column_names:
                self.order.setdefault(name, []).append(table.column(name).to_numpy())

    def speaks(self, change: Change[Any]) -> bool:
        """Return whether a change without a partner gives a result."""
        return self.alone and (change.new is not None or change.old is not None)

    def before(self, others: Sequence[Any]) -> dict[Any, Row | None]:
        """Return what its own keys and others had before these changes."""
        found: dict[Any, Row | None] = {}
        for key, change, time in zip(self.keys, self.changes, self.old_times, strict=True):
            if key not in found:
                found[key] = None if change.old is None else (change.old, time)
        unchanged = [key for key in dict.fromkeys(others) if key not in found]
        found.update(zip(unchanged, self.rows_of(unchanged), strict=True))
        return found

    def rows(self, keys: list[Any]) -> list[Row | None]:
        """Return the rows of keys, where none of its own changes."""
        different = list(dict.fromkeys(keys))
        rows = self.rows_of(different)
        if len(different) == len(keys):
            return rows
        return list(map(dict(zip(different, rows, strict=True)).__getitem__, keys))


class TableJoinColumns(ColumnJoinProcessor):
    """What `TableJoin` does, of which no record reaches both inputs.

    Both stores have all rows of the changes that come: what was before is in the changes.

    Args:
        left: How the left table is read.
        right: How the right table is read.
        joiner: Of any kind.
        store: Where results are kept; None for nowhere.
    """

    def __init__(
        self,
        left: TableRows,
        right: TableRows,
        joiner: Joiner[Any, Any, Any, Any],
        store: StoreSpec[Any] | None,
    ) -> None:
        self._tables = left, right
        self._joiner = joiner
        self._spec = store

    @property
    def reads_values(self) -> bool:
        """Return True."""
        return True

    def init(self, context: BatchContext) -> None:
        """Get both tables ready, and the store of results."""
        super().init(context)
        self._held = HeldObjects()
        self._read = [table.open_many(context) for table in self._tables]
        self._results: PresentColumns | None = None
        if self._spec is not None:
            columns = self._spec.kind.table_columns(self._spec, context.store(self._spec))
            self._results = PresentColumns.among(columns, self._spec.name)
        self._begin()

    def _begin(self) -> None:
        keeps = self._joiner.keeps
        self._left = _Side(self._read[0], keeps(left=True))
        self._right = _Side(self._read[1], keeps(left=False))

    def take_left(self, table: pa.Table) -> None:
        """Take changes of the left table."""
        self._left.take(table)

    def take_right(self, table: pa.Table) -> None:
        """Take changes of the right table."""
        self._right.take(table)

    def advance(self, stream_time_ms: int) -> None:
        """Let go of the batch's objects."""
        self._held.clear()

    def join(self) -> None:
        """Forward what becomes of the changes taken."""
        left, right = self._left, self._right
        self._begin()
        keys, changes, times = (
            left.keys + right.keys,
            left.changes + right.changes,
            left.times + right.times,
        )
        order, partners = _partners(left, right)
        first_right = len(left.keys)
        kept, others, later = [], [], []
        for number, partner in zip(order, partners, strict=True):
            if partner is not None:
                kept.append(number)
                others.append(partner[0])
                later.append(max(times[number], partner[1]))
            elif (left if number < first_right else right).speaks(changes[number]):
                kept.append(number)
                others.append(None)
                later.append(times[number])
        if not kept:
            return
        columns = {
            "key": self._held.column([keys[number] for number in kept]),
            "timestamp": pa.array(later, pa.int64()),
        }
        for name in _ORDER:
            if parts := [*left.order.get(name, ()), *right.order.get(name, ())]:
                columns[name] = pa.array(np.concatenate(parts)[kept])
        table = pa.table(columns)
        row = self._joiner.row

        def joined(number: int, other: Any) -> Change[Any]:  # noqa: ANN401  # a row of either table
            change = changes[number]
            if number < first_right:
                return Change(row(change.new, other), row(change.old, other))
            return Change(row(other, change.new), row(other, change.old))

        made = each_row(joined, table, kept, others)
        if self._results is not None:
            news = [change.new for change in made]
            before = put_rows(self._results, [keys[number] for number in kept], news, later)
            made = list(map(Change, news, [None if row is None else row[0] for row in before]))
        self.context.forward(table.append_column("value", self._held.column(made)))


def _partners(left: _Side, right: _Side) -> tuple[Sequence[int], list[Row | None]]:
    """Return the numbers of all changes, left ones first, in order; and the row that each meets."""
    first_right, count = len(left.keys), len(left.keys) + len(right.keys)
    if not right.keys:
        return range(count), right.rows(left.keys)
    if not left.keys:
        return range(count), left.rows(right.keys)
    order = np.argsort(np.concatenate((*left.order[PLACE], *right.order[PLACE]))).tolist()
    lefts, rights = left.before(right.keys), right.before(left.keys)
    keys, times = left.keys + right.keys, left.times + right.times
    changes, found = left.changes + right.changes, []
    for number in order:
        key, new = keys[number], changes[number].new
        row = None if new is None else (new, times[number])
        if number < first_right:
            lefts[key] = row
            found.append(rights[key])
        else:
            rights[key] = row
            found.append(lefts[key])
    return order, found
