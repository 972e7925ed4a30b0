"""The second stage of a foreign-key join: join right rows with the left rows that refer to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.joins.change import Change
from kstreams.joins.encoded_output import encoded_context
from kstreams.joins.foreign.answer_columns import ForeignAnswerColumns
from kstreams.joins.foreign.foreign_answers import ArrivedRows, Changed, ForeignAnswers
from kstreams.joins.foreign.foreign_messages import ENTER, LEAVE_RESULT, MOVE, opened
from kstreams.joins.join_processor import JoinProcessor
from kstreams.joins.joiner import Joiner
from kstreams.joins.table_rows import TableRows
from kstreams.processors.column_form import Input, Need, NodeForm
from kstreams.processors.columns import ColumnProcessor
from kstreams.processors.context import BatchContext, ProcessorContext
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.subscription.rows import SubscriptionRows

__all__ = ("ForeignAnswer",)


@dataclass(frozen=True)
class ForeignAnswer:
    """Creates the processors that store left rows by their foreign keys, and join them.

    An arriving left row is joined with its right row, and a changed right row with all left rows
    that refer to it. Left rows are read, joined and sent as columns, up to 8,192 at a time. If no
    record may be skipped, rows are joined at the end of a batch: each left row has one response,
    for any number of changes of its right row. Otherwise each record is joined separately, so that
    a failure of the joiner is attributed to its record.

    Args:
        right: The reader of the right table.
        joiner: An inner or a left joiner.
        entered: The subscription store.
        value: The serde of the left table's values.
        result: The serde of the results.
        responses: The name of the edge to the tasks of left keys.

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
    def column_form(self) -> NodeForm:
        """Return the column form, whose inputs are subscriptions and the right table's changes."""
        return NodeForm((Need.RECORDS, Need.CHANGES), self._by_columns)

    def _by_columns(self, left: Input, right: Input) -> ColumnProcessor:
        return ForeignAnswerColumns(left.records, self.entered, self.answers)

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the subscription store and the stores of the right table."""
        return (self.entered, *self.right.stores)

    def answers(
        self,
        context: ProcessorContext[Any, Any] | BatchContext,
        rows: SubscriptionRows,
        arrival_times: dict[bytes, int],
    ) -> ForeignAnswers:
        """Create the object that joins rows and sends responses.

        Args:
            context: The context of a processor.
            rows: The rows of the subscription store.
            arrival_times: The times of the left rows that arrived in a batch, by row key.
        """
        return ForeignAnswers(
            self.joiner,
            self.value,
            self.result,
            self.responses,
            context=encoded_context(context),
            rows=rows,
            rights=self.right.open_many(context),
            arrival_times=arrival_times,
        )


class _Answer(JoinProcessor[Any, bytes, "Change[Any]", Any, Any]):
    keeps_key: ClassVar[bool] = False

    def __init__(self, stage: ForeignAnswer) -> None:
        self._stage = stage

    def init(self, context: ProcessorContext[Any, Any]) -> None:
        super().init(context)
        self._rows = SubscriptionRows.of(context.store(self._stage.entered))
        self._arrival_times: dict[bytes, int] = {}
        self._answers = self._stage.answers(context, self._rows, self._arrival_times)
        if encoded_context(context).may_skip:
            self._take: Callable[[ArrivedRows | Changed], None] = lambda item: self._send((item,))
        else:
            self._take = context.hold(self._send)
        self._at_end = context.hold(
            lambda _: self._arrival_times.clear()
        )  # after the earlier held calls

    def process_left(self, record: Record[Any, bytes]) -> None:
        """Store or delete a left row, and join it."""
        says, prefix, row, value = opened(record.value)
        has_arrived = says in (ENTER, MOVE)
        self._rows.put(row, value if has_arrived else None)
        if has_arrived or says == LEAVE_RESULT:
            self._take(
                ArrivedRows([record.key], [says], [0], [prefix], [row], [value], [record.timestamp])
            )
        if has_arrived:
            if not self._arrival_times:
                self._at_end(None)
            self._arrival_times[row] = record.timestamp

    def process_right(self, record: Record[Any, Change[Any]]) -> None:
        """Join a changed right row with all left rows that refer to it."""
        if record.value.latest:
            self._take(Changed(record.key, record.value.new, record.timestamp))

    def _send(self, items: Sequence[ArrivedRows | Changed]) -> None:
        arrived = ArrivedRows()
        for item in items:
            if isinstance(item, ArrivedRows):
                arrived.add(item)
        self._answers.send(arrived, [item for item in items if isinstance(item, Changed)])
