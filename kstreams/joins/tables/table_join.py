"""Join two tables by key into a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.joins.change import Change
from kstreams.joins.columns.table_join import TableJoinColumns
from kstreams.joins.join_processor import ClosureJoinProcessor
from kstreams.joins.join_terms import Terms
from kstreams.joins.joiner import Joiner
from kstreams.joins.table_rows import DerivedRows, RowOf, StoredRows, TableRows, keeping
from kstreams.joins.tables.compaction import by_key
from kstreams.processors.column_form import Input, Need, NodeForm, Reason
from kstreams.processors.columns import ColumnProcessor
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.state.stores.spec import StoreSpec

__all__ = ("TableJoin",)

_Side = Record[Any, Change[Any]]
_Process = Callable[[_Side], None]


@dataclass(frozen=True)
class TableJoin:
    """Creates the processors of `join_tables`.

    The time of a result is the later time of both rows. Changes that are not the latest version of
    a row are ignored. An inner join forwards a deletion whenever one side is deleted and the other
    exists, with or without an earlier result, as Kafka Streams does.

    Args:
        left: Reads the left table.
        right: Reads the right table.
        joiner: A joiner of any kind.
        store: The store of the results; None for no store.

    Source: `KTable#join`, `KTable#leftJoin`, `KTable#outerJoin`. One record that changes both
    tables gives one result, where Kafka Streams gives two.
    """

    left: TableRows
    right: TableRows
    joiner: Joiner[Any, Any, Any, Any]
    store: StoreSpec[Any] | None = None

    def __call__(self) -> _TableJoin:
        """Return a new processor."""
        return _TableJoin(self)

    @property
    def column_form(self) -> NodeForm:
        """Return the column form, whose inputs are the changes of two tables."""
        need = Need.CHANGES | Need.ROWS
        return NodeForm((need, need), self._by_columns)

    def _by_columns(self, left: Input, right: Input) -> ColumnProcessor | Reason:
        for table in (self.left, self.right):
            if not isinstance(table, (StoredRows, DerivedRows)):
                return "it joins the result of another join"
            if not table.key.ordered.hashes_by_bytes:
                return f"equal keys of {table.key.name} may have different bytes"
        if self.store is not None:
            kind = self.store.kind
            if kind.has_history or not kind.has_table_columns:
                return f"its {kind.name} store is updated record by record"
        return TableJoinColumns(self.left, self.right, self.joiner, self.store)

    @property
    def join_terms(self) -> Terms:
        """Return the kind of join."""
        return {"how": self.joiner.how}

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the stores of both tables and of the results."""
        own = () if self.store is None else (self.store,)
        return tuple(dict.fromkeys((*self.left.stores, *self.right.stores, *own)))

    @property
    def keyed_stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the stores of both tables and of the results."""
        return self.stores


class _TableJoin(ClosureJoinProcessor[Any, Change[Any], Change[Any], Any, Change[Any]]):
    keeps_key: ClassVar[bool] = True

    def __init__(self, join: TableJoin) -> None:
        self._join = join

    def bind(self, context: ProcessorContext[Any, Change[Any]]) -> tuple[_Process, _Process]:
        join = self._join
        joiner, row = join.joiner, join.joiner.row
        self._keep = keeping(join.store, context)
        left = self._side(join.right.open(context), row, speaks_alone=joiner.keeps(left=True))
        right = self._side(
            join.left.open(context),
            lambda one, other: row(other, one),
            speaks_alone=joiner.keeps(left=False),
        )
        return left, right

    def process_both(self, lefts: Sequence[_Side], rights: Sequence[_Side]) -> None:
        """Join changes of both sides that one upstream record causes, with one result per key."""
        if not lefts or not rights:
            super().process_both(lefts, rights)
            return
        for key, left, right in _by_key(lefts, rights, self._join.left.key):
            if left is None or right is None:
                super().process_both([left] if left else [], [right] if right else [])
                continue
            row = self._join.joiner.row
            new = row(left.value.new, right.value.new)
            old = row(left.value.old, right.value.old)
            if new is not None or old is not None:
                time = max(left.timestamp, right.timestamp)
                self._forward(key, Change(new, old), time)

    def _side(
        self, other_of: RowOf, row: Callable[[Any, Any], Any], *, speaks_alone: bool
    ) -> _Process:
        def process(record: _Side) -> None:
            change = record.value
            if not change.latest:
                return
            key, time, theirs = record.key, record.timestamp, None
            other = other_of(key)
            if other is not None:
                theirs, time = other[0], max(time, other[1])
            elif not speaks_alone or (change.new is None and change.old is None):
                return
            self._forward(key, Change(row(change.new, theirs), row(change.old, theirs)), time)

        return process

    def _forward(self, key: object, change: Change[Any], time: int) -> None:
        self.context.forward(Record(key, self._keep(key, change, time), time))


def _by_key(
    lefts: Sequence[_Side], rights: Sequence[_Side], key: Serde[Any]
) -> Iterator[tuple[Any, _Side | None, _Side | None]]:
    """Yield each key with its net change on each side; None for a side without a change."""
    known = by_key(key)
    found: dict[object, list[_Side | None]] = {}
    for place, records in enumerate((lefts, rights)):
        for record in records:
            if record.value.latest:
                sides = found.setdefault(known(record.key), [None, None])
                sides[place] = _after(sides[place], record)
    for left, right in found.values():
        some = left or right
        if some is not None:
            yield some.key, left, right


def _after(before: _Side | None, record: _Side) -> _Side:
    """Merge two successive changes of a key into one change."""
    return record.with_value(Change(record.value.new, (before or record).value.old))
