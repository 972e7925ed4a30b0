"""Join a stream with itself by columns."""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa

from kstreams.joins.columns.batch_join import BatchJoin
from kstreams.joins.columns.join_input import NO_KEY, NO_VALUE, JoinInput
from kstreams.joins.columns.pair_results import results_of
from kstreams.joins.columns.remembering import RemembersStreams
from kstreams.joins.columns.stream_matching import Known, Met, meet_itself
from kstreams.processors.context import BatchContext
from kstreams.times import FAR_MS

__all__ = ("SelfJoinColumns",)


class SelfJoinColumns(RemembersStreams):
    """The columnar form of `SelfJoin`; both sides have the same source."""

    def init(self, context: BatchContext) -> None:
        """Open the store, and delete its list of waiting records.

        The list has entries only if the node was an outer join in an earlier version of the app.
        """
        super().init(context)
        self._rows.drop_open(FAR_MS)  # those of an outer join before

    def process_batch(self, table: pa.Table) -> None:
        """Join the records of a batch, in the order of their positions."""
        inputs = JoinInput([table, table.slice(0, 0)], self._sources)
        for reason, code in (("null-value", NO_VALUE), ("null-key", NO_KEY)):
            count = int((inputs.codes == code).sum())
            if count:
                self.context.drop(reason, count)
        tools = self._rows, self._columns, self._tail, self._setup
        outcome = _SelfBatch(*tools, (False, False), inputs, int(inputs.stream[-1])).run()
        if outcome.late:
            self.context.drop("late", outcome.late)
        results = results_of(inputs, outcome, self._joiner, self._sources, self.held)
        if results is not None:
            self.context.forward(results)


class _SelfBatch(BatchJoin):
    """A batch of a self-join, whose records match records of their own side."""

    sides: ClassVar[int] = 1

    def meet(self, known: Known) -> Met:
        """Return the matched pairs, including pairs of a record with itself."""
        return meet_itself(self.arrivals, known, self.setup)
