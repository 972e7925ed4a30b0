"""The second stage of a foreign-key join by columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kstreams.joins.columns.changes import Changes
from kstreams.joins.foreign.foreign_answers import ArrivedRows, Changed, ForeignAnswers
from kstreams.joins.foreign.foreign_messages import ENTER, LEAVE, MOVE, opened_many
from kstreams.processors.columns import ColumnJoinProcessor, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.serde.objects import objects_of
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.subscription.rows import SubscriptionRows

__all__ = ("ForeignAnswerColumns",)


class ForeignAnswerColumns(ColumnJoinProcessor):
    """The columnar form of `ForeignAnswer`; it joins rows at the end of a batch.

    Not used by tasks that may skip failed records.

    Args:
        source: The source of the subscriptions.
        entered: The subscription store.
        answers: Creates the `ForeignAnswers`. Takes the context, the rows of the subscription
            store, and the times of the left rows that arrived in the batch, by row key.
    """

    def __init__(
        self,
        source: ColumnSource,
        entered: StoreSpec[Any],
        answers: Callable[[BatchContext, SubscriptionRows, dict[bytes, int]], ForeignAnswers],
    ) -> None:
        self._source = source
        self._entered = entered
        self._make_answers = answers

    @property
    def reads_values(self) -> bool:
        """Return True: the processor reads the values of its input."""
        return True

    def init(self, context: BatchContext) -> None:
        """Open the stores."""
        super().init(context)
        self._rows = SubscriptionRows.of(context.store(self._entered))
        self._arrival_times: dict[bytes, int] = {}
        self._answers = self._make_answers(context, self._rows, self._arrival_times)
        self._take: Callable[[ArrivedRows | list[Changed]], None] = context.hold(self._send)

    def take_left(self, table: pa.Table) -> None:
        """Store or delete left rows, and buffer them for the end of the batch."""
        if not table.num_rows:
            return
        keys = table.column("key").combine_chunks().dictionary_encode()
        data = table.column("value").combine_chunks()
        says, prefixes, rows, values = opened_many(data)
        times: list[int] = objects_of(table.column("timestamp"))
        stays = [each in (ENTER, MOVE) for each in says]
        kept = zip(values, stays, strict=True)
        self._rows.put_many(rows, [value if stay else None for value, stay in kept])
        known = self._source.key.deserialize_many(keys.dictionary)
        arrived = ArrivedRows(known, says, objects_of(keys.indices), prefixes, rows, values, times)
        self._take(arrived if all(stays) else arrived.kept([each != LEAVE for each in says]))

    def take_right(self, table: pa.Table) -> None:
        """Buffer changed right rows for the end of the batch."""
        keys, news, _, times = Changes.of(table)
        self._take(list(map(Changed, objects_of(keys), news, times.tolist())))

    def join(self) -> None:
        """Do nothing: responses are sent at the end of the batch."""

    def _send(self, items: Sequence[ArrivedRows | list[Changed]]) -> None:
        arrived, changed = ArrivedRows(), []
        for item in items:
            if isinstance(item, ArrivedRows):
                arrived.add(item)
            else:
                changed += item
        if changed:
            stays = zip(arrived.row, arrived.time, arrived.says, strict=True)
            self._arrival_times.update(
                (row, time) for row, time, says in stays if says in (ENTER, MOVE)
            )
        self._answers.send(arrived, changed)
        self._arrival_times.clear()
