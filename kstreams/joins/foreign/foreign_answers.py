"""Join right rows with the left rows that refer to them, and send the results as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kstreams._types import Bools, Ints, Objects
from kstreams.joins.columns.both_values import there
from kstreams.joins.columns.changes import parted
from kstreams.joins.encoded_output import EncodedContext, encoded_table
from kstreams.joins.foreign.foreign_messages import LEAVE_RESULT, MOVE, responses
from kstreams.joins.joiner import Joiner
from kstreams.joins.table_rows import RowsOf
from kstreams.serde.base import Serde
from kstreams.serde.objects import object_column
from kstreams.state.stores.subscription.rows import SubscriptionRows

__all__ = ("ArrivedRows", "Changed", "ForeignAnswers")

_AT_ONCE = 8_192
_BYTES_AT_ONCE = 4 * 1024 * 1024
_AT_FIRST = 256
"""The number of left rows joined at once while the size of rows is unknown. It bounds the memory of
a change to which many left rows refer.
"""


@dataclass
class ArrivedRows:
    """Left rows that have subscribed to a foreign key, or whose results are deleted, as columns.

    Attributes:
        keys: The foreign keys; may contain duplicates.
        says: The kind of each row's change: `ENTER`, `MOVE` or `LEAVE_RESULT`.
        foreign: The index of each row's foreign key in `keys`.
        prefix: The length of the encoded foreign key at the start of each element of `row`.
        row: The key of each left row in the subscription store.
        value: The encoded left values.
        time: The times of the left rows, ms.
    """

    keys: list[Any] = field(default_factory=list)
    says: list[int] = field(default_factory=list)
    foreign: list[int] = field(default_factory=list)
    prefix: list[int] = field(default_factory=list)
    row: list[bytes] = field(default_factory=list)
    value: list[bytes] = field(default_factory=list)
    time: list[int] = field(default_factory=list)

    def add(self, other: ArrivedRows) -> None:
        """Append the left rows and the foreign keys of another `ArrivedRows`."""
        count = len(self.keys)
        self.keys += other.keys
        self.foreign += [count + number for number in other.foreign] if count else other.foreign
        self.says += other.says
        self.prefix += other.prefix
        self.row += other.row
        self.value += other.value
        self.time += other.time

    def kept(self, keep: Sequence[bool]) -> ArrivedRows:
        """Return the left rows for which `keep` is true."""
        return ArrivedRows(
            self.keys, *(list[Any](compress(column, keep)) for column in self._columns)
        )

    def pieces(self) -> Iterator[ArrivedRows]:
        """Yield the left rows in batches of at most 8,192."""
        for start in range(0, len(self.row), _AT_ONCE):
            piece = slice(start, start + _AT_ONCE)
            yield ArrivedRows(self.keys, *(list[Any](column[piece]) for column in self._columns))

    @property
    def _columns(self) -> tuple[list[Any], ...]:
        return self.says, self.foreign, self.prefix, self.row, self.value, self.time


class Changed(NamedTuple):
    """A right row that has changed: its key, its new value (None if deleted) and its time (ms)."""

    foreign: Any
    value: Any
    time: int


class ForeignAnswers:
    """Joins left rows with right ones, and sends the results.

    Args:
        joiner: An inner or a left joiner.
        value: The serde of the left table's values.
        result: The serde of the results.
        edge: The name of the edge to the tasks of left keys.
        context: The context that sends responses.
        rows: The subscription store.
        rights: The reader of the right table.
        arrival_times: The times of the left rows that arrived in this batch, by row key.
    """

    def __init__(
        self,
        joiner: Joiner[Any, Any, Any, Any],
        value: Serde[Any],
        result: Serde[Any],
        edge: str,
        *,
        context: EncodedContext,
        rows: SubscriptionRows,
        rights: RowsOf,
        arrival_times: Mapping[bytes, int],
    ) -> None:
        self._inner = joiner.how == "inner"
        self._function = joiner.function
        self._value = value
        self._result = result
        self._edge = edge
        self._context = context
        self._rows = rows
        self._rights = rights
        self._arrival_times = arrival_times

    def send(self, arrived: ArrivedRows, changed: Sequence[Changed]) -> None:
        """Send results: first for left rows of changed right rows, then for arrived left rows.

        Args:
            arrived: Left rows, in the order of arrival.
            changed: Changed right rows, in the order of arrival; the last change of a row counts.
        """
        last = {self._rows.prefix(item.foreign): item for item in changed}
        self._to_all(last)
        if last:
            alone = [
                says == LEAVE_RESULT or row[:size] not in last
                for says, row, size in zip(arrived.says, arrived.row, arrived.prefix, strict=True)
            ]
            arrived = arrived.kept(alone)
        if arrived.row:
            values, times = parted(self._rights(arrived.keys))
            rights = object_column(values), np.array(times, np.int64)
            for piece in arrived.pieces():
                self._to_each(piece, *rights)

    def _to_all(self, changed: Mapping[bytes, Changed]) -> None:
        """Send results for all left rows that refer to changed right rows.

        `changed` contains the right rows by their encoded key, a prefix of subscription keys.
        """
        prefixes = sorted(changed)
        items = [changed[prefix] for prefix in prefixes]
        sizes = list(map(len, prefixes))
        for numbers, rows, values in _pieces(self._rows.within_each(prefixes)):
            rights = [items[number].value for number in numbers]
            times = [items[number].time for number in numbers]
            owns = [row[sizes[number] :] for number, row in zip(numbers, rows, strict=True)]
            results = self._joined(values, rights)
            since = (
                list(map(self._arrival_times.get, rows))
                if self._arrival_times
                else [None] * len(rows)
            )
            now = np.array([each is not None for each in since])
            times = [
                time if each is None or each < time else each
                for each, time in zip(since, times, strict=True)
            ]
            self._forward(owns, results, now, np.array(times, np.int64))

    def _joined(self, values: Sequence[bytes], rights: Sequence[Any]) -> list[Any]:
        """Join left rows with right values; a right value or a result may be None."""
        function = self._function
        if not self._inner or None not in rights:
            return list(map(function, self._lefts(values), rights))
        there = [right is not None for right in rights]
        lefts = iter(self._lefts(list(compress(values, there))))
        return [None if right is None else function(next(lefts), right) for right in rights]

    def _to_each(self, items: ArrivedRows, by_key: Objects, times_by_key: Ints) -> None:
        """Send results for left rows that have arrived, or whose results are deleted.

        Args:
            items: The left rows.
            by_key: The right value of each foreign key; None for no row.
            times_by_key: The time of each right row, ms.
        """
        rights, lefts = by_key[items.foreign], object_column(items.value)
        says, has_right = np.array(items.says), there(rights)
        goes = says == LEAVE_RESULT
        joins = np.flatnonzero(~goes & (has_right | (not self._inner)))
        results = np.full(len(says), None, object)
        made = map(self._function, self._lefts(lefts[joins].tolist()), rights[joins].tolist())
        results[joins] = object_column(list(made))
        # An unchanged key without a match says nothing.
        answers = np.flatnonzero(has_right | goes | (not self._inner) | (says == MOVE))
        if len(answers):
            owns = [items.row[row][items.prefix[row] :] for row in answers.tolist()]
            times = np.array(items.time, np.int64)
            times = np.where(has_right, np.maximum(times, times_by_key[items.foreign]), times)[
                answers
            ]
            now = np.ones(len(answers), bool)
            self._forward(owns, results[answers].tolist(), now, times)

    def _lefts(self, values: Sequence[bytes | None]) -> list[Any]:
        return self._value.deserialize_many(pa.array(values, pa.binary()))

    def _forward(
        self, owns: Sequence[bytes], results: Sequence[Any], now: Bools, times: Ints
    ) -> None:
        """Send responses to the tasks of left keys.

        Args:
            owns: The encoded left keys.
            results: The results; None for no result.
            now: The mask of left rows that changed in this batch.
            times: The times of the responses, ms.
        """
        values = responses(now, self._result.serialize_many(results))
        table = encoded_table(pa.array(owns, pa.binary()), values, pa.array(times))
        self._context.forward_encoded(self._edge, table)


def _pieces(
    rows: Iterator[tuple[int, bytes, bytes]],
) -> Iterator[tuple[Sequence[int], Sequence[bytes], Sequence[bytes]]]:
    """Split left rows into batches of limited count and size, as columns.

    Yields three columns for each batch: the index of the right row to which each left row refers,
    the keys of the left rows in the subscription store, and their encoded values.
    """
    count = _AT_FIRST
    while piece := list(islice(rows, count)):
        numbers, keys, values = zip(*piece, strict=True)
        yield numbers, keys, values
        fitting = _BYTES_AT_ONCE * len(piece) // (1 + sum(map(len, values)))
        count = max(1, min(_AT_ONCE, 8 * count, fitting))
