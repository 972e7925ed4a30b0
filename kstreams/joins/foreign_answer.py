"""The second stage of a foreign-key join: right rows answer those that name them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kstreams.joins.change import Change
from kstreams.joins.encoded_output import EncodedContext, encoded_context, encoded_table
from kstreams.joins.foreign_messages import (
    ENTER,
    LEAVE_RESULT,
    MOVE,
    NO_ROW,
    NO_ROW_NOW,
    ROW,
    ROW_NOW,
    opened,
)
from kstreams.joins.join_processor import JoinProcessor
from kstreams.joins.joiner import Joiner
from kstreams.joins.table_rows import RowOf, TableRows
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.subscription.rows import SubscriptionRows
from kstreams.state.stores.table_access import Row

__all__ = ("ForeignAnswer",)

_AT_ONCE = 8_192
_BYTES_AT_ONCE = 4 * 1024 * 1024
_AT_FIRST = 256
"""Left rows that are joined at once, and their bytes: what a large fan-out has in memory besides
its output. Their size is not known before some were read."""

_HEADS = ((NO_ROW, ROW), (NO_ROW_NOW, ROW_NOW))
"""How responses begin: by whether they are new, and whether they have a result."""


@dataclass(frozen=True)
class ForeignAnswer:
    """Makes the processors that keep left rows by their foreign keys, and join them.

    A left row that comes is joined with the right row, and a right row that changes with all
    that name it: those are read, joined and sent in columns, some thousands at a time.

    Where no record may be skipped, that is done at the end of a batch, with the right rows as
    they are then: one response a left row, however often the right one has changed. Else each
    record is joined by itself, so that a joiner that fails is the failure of that record.

    Args:
        right: How the right table is read.
        joiner: An inner or a left one.
        entered: The subscription store.
        value: Serde of the left table's values.
        result: Serde of the results.
        responses: Name of the edge to the tasks of left keys.

    Source: `SubscriptionReceiveProcessorSupplier`, `ForeignTableJoinProcessorSupplier` and
    `ResponseJoinProcessorSupplier` of Kafka Streams.
    """

    right: TableRows
    joiner: Joiner[Any, Any, Any, Any]
    entered: StoreSpec[Any]
    value: Serde[Any]
    result: Serde[Any]
    responses: str

    def __call__(self) -> _Answer:
        """Return a new processor."""
        return _Answer(self)

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the subscription store, and those of the right table."""
        return (self.entered, *self.right.stores)


class _Came(NamedTuple):
    """A left row that has come to a foreign key, or whose result goes.

    Attributes:
        says: `ENTER`, `MOVE` or `LEAVE_RESULT`.
        foreign: The foreign key.
        prefix: How many bytes of the row's key are the foreign key's.
        row: Its key in the subscription store.
        value: Its encoded value.
        time: In ms.
    """

    says: int
    foreign: Any
    prefix: int
    row: bytes
    value: bytes
    time: int


class _Changed(NamedTuple):
    """A right row that has changed."""

    foreign: Any
    value: Any
    time: int


class _Answer(JoinProcessor[Any, bytes, "Change[Any]", Any, Any]):
    keeps_key: ClassVar[bool] = False

    def __init__(self, stage: ForeignAnswer) -> None:
        self._stage = stage

    def init(self, context: ProcessorContext[Any, Any]) -> None:
        super().init(context)
        stage, engine = self._stage, encoded_context(context)
        self._rows = SubscriptionRows.of(context.store(stage.entered))
        self._came: dict[bytes, int] = {}
        answers = _Answers(stage, engine, self._rows, stage.right.open(context), self._came)
        if engine.may_skip:
            self._take: Callable[[_Came | _Changed], None] = lambda item: answers.send((item,))
        else:
            self._take = context.hold(answers.send)
        self._at_end = context.hold(self._forget)  # released after what is held before it

    def process_left(self, record: Record[Any, bytes]) -> None:
        """Keep a left row, or forget it."""
        says, prefix, row, value = opened(record.value)
        came = says in (ENTER, MOVE)
        self._rows.put(row, value if came else None)
        if came or says == LEAVE_RESULT:
            self._take(_Came(says, record.key, prefix, row, value, record.timestamp))
        if came:
            if not self._came:
                self._at_end(None)
            self._came[row] = record.timestamp

    def process_right(self, record: Record[Any, Change[Any]]) -> None:
        """Join all left rows that name a right row."""
        if record.value.latest:
            self._take(_Changed(record.key, record.value.new, record.timestamp))

    def _forget(self, _: Sequence[object]) -> None:
        self._came.clear()


class _Answers:
    """Joins left rows with right ones, and sends what comes of it.

    Args:
        stage: What was defined.
        context: Takes responses.
        rows: The subscription store.
        right_of: Reads the right table.
        came: Row keys of the left rows that have come in this batch, with their times.
    """

    def __init__(
        self,
        stage: ForeignAnswer,
        context: EncodedContext,
        rows: SubscriptionRows,
        right_of: RowOf,
        came: dict[bytes, int],
    ) -> None:
        self._inner = stage.joiner.how == "inner"
        self._function = stage.joiner.function
        self._value = stage.value
        self._result = stage.result
        self._edge = stage.responses
        self._context = context
        self._rows = rows
        self._right_of = right_of
        self._came = came

    def send(self, items: Sequence[_Came | _Changed]) -> None:
        """Answer, in the order of what has happened; of several changes of a right row the last."""
        changed = {
            self._rows.prefix(item.foreign): item for item in items if isinstance(item, _Changed)
        }
        for prefix, item in changed.items():
            self._to_all(prefix, item)
        alone = [
            item
            for item in items
            if isinstance(item, _Came)
            and (item.says == LEAVE_RESULT or item.row[: item.prefix] not in changed)
        ]
        for start in range(0, len(alone), _AT_ONCE):
            self._to_each(alone[start : start + _AT_ONCE])

    def _to_all(self, prefix: bytes, changed: _Changed) -> None:
        """Answer all left rows of a right row."""
        size, right, time, came = len(prefix), changed.value, changed.time, self._came.get
        for rows, values in _pieces(self._rows.within(prefix)):
            results = None
            if right is not None or not self._inner:
                lefts, function = self._lefts(values), self._function
                results = [function(left, right) for left in lefts]
            owns = [row[size:] for row in rows]
            if not self._came:
                self._forward(owns, results, None, pa.repeat(time, len(rows)))
                continue
            since = list(map(came, rows))
            times = [time if each is None or each < time else each for each in since]
            self._forward(owns, results, [each is not None for each in since], pa.array(times))

    def _to_each(self, items: Sequence[_Came]) -> None:
        """Answer left rows that have come, or whose results go."""
        lefts = self._lefts([None if each.says == LEAVE_RESULT else each.value for each in items])
        known: dict[bytes, Row | None] = {}
        owns, results, times = [], [], []
        for item, left in zip(items, lefts, strict=True):
            prefix = item.row[: item.prefix]
            row = known[prefix] if prefix in known else self._right_of(item.foreign)
            known[prefix] = row
            result = None
            if item.says == LEAVE_RESULT:
                pass
            elif row is not None:
                result = self._function(left, row[0])
            elif not self._inner:
                result = self._function(left, None)
            elif item.says == ENTER:
                continue  # an unchanged key without a match says nothing
            owns.append(item.row[item.prefix :])
            results.append(result)
            times.append(item.time if row is None else max(item.time, row[1]))
        if owns:
            self._forward(owns, results, [True] * len(owns), pa.array(times))

    def _lefts(self, values: Sequence[bytes | None]) -> list[Any]:
        return self._value.deserialize_many(pa.array(values, pa.binary()))

    def _forward(
        self,
        owns: Sequence[bytes],
        results: Sequence[Any] | None,
        news: Sequence[bool] | None,
        times: pa.Array,
    ) -> None:
        """Send responses: without results there are none, and without `news` none is new."""
        found = pa.nulls(len(owns), pa.binary())
        if results is not None:
            found = self._result.serialize_many(results)
        firsts = pa.scalar(ROW, pa.binary())
        if news is not None or found.null_count:
            pairs = zip(news or [False] * len(owns), found.is_valid().to_pylist(), strict=True)
            firsts = pa.array([_HEADS[new][has] for new, has in pairs], pa.binary())
        values = pc.binary_join_element_wise(firsts, pc.fill_null(found, b""), b"")
        table = encoded_table(pa.array(owns, pa.binary()), values, times)
        self._context.forward_encoded(self._edge, table)


def _pieces(
    rows: Iterator[tuple[bytes, bytes]],
) -> Iterator[tuple[Sequence[bytes], Sequence[bytes]]]:
    """Yield keys and values of rows, of some thousands at a time, and of few that are large."""
    count = _AT_FIRST
    while piece := list(islice(rows, count)):
        keys, values = zip(*piece, strict=True)
        yield keys, values
        fitting = _BYTES_AT_ONCE * len(piece) // (1 + sum(map(len, values)))
        count = max(1, min(_AT_ONCE, 8 * count, fitting))
