"""The columnar join of two streams."""

from __future__ import annotations

import pyarrow as pa

from kstreams.joins.columns.batch_join import BatchJoin, Outcome
from kstreams.joins.columns.join_input import NO_KEY, NO_VALUE, JoinInput
from kstreams.joins.columns.pair_results import ended_results, results_of
from kstreams.joins.columns.remembering import RemembersStreams
from kstreams.processors.columns import ColumnJoinProcessor
from kstreams.processors.context import BatchContext
from kstreams.times import FAR_MS

__all__ = ("StreamJoinColumns",)


class StreamJoinColumns(RemembersStreams, ColumnJoinProcessor):
    """The columnar form of `StreamJoin`."""

    def init(self, context: BatchContext) -> None:
        """Open the store, and register the closing of windows at the end of a run."""
        super().init(context)
        self._keeps = self._joiner.keeps(left=True), self._joiner.keeps(left=False)
        self._taken: tuple[list[pa.Table], list[pa.Table]] = ([], [])
        if any(self._keeps):
            context.on_end_of_run(self._close_all)
        else:
            self._rows.drop_open(FAR_MS)  # those of an outer join before

    def take_left(self, table: pa.Table) -> None:
        """Buffer records of the left input."""
        self._taken[0].append(table)

    def take_right(self, table: pa.Table) -> None:
        """Buffer records of the right input."""
        self._taken[1].append(table)

    def join(self) -> None:
        """Join the buffered records, in the order of their positions."""
        if not any(self._taken):
            return
        tables = [pa.concat_tables(parts) for parts in self._taken if parts]
        sides = [side for side, parts in enumerate(self._taken) if parts]
        for parts in self._taken:
            parts.clear()
        if len(tables) == 1:
            tables.insert(1 - sides[0], tables[0].slice(0, 0))
        inputs = JoinInput(tables, self._sources)
        self._drop(inputs)
        outcome = self._run(inputs, int(inputs.stream[-1]))
        if outcome.late:
            self.context.drop("late", outcome.late)
        results = results_of(inputs, outcome, self._joiner, self._sources, self.held)
        if results is not None:
            self.context.forward(results)

    def _run(self, inputs: JoinInput, end: int) -> Outcome:
        """Join records, and close windows up to the stream time `end`, ms."""
        tools = self._rows, self._columns, self._tail
        return BatchJoin(*tools, self._setup, self._keeps, inputs, end).run()

    def _drop(self, inputs: JoinInput) -> None:
        """Count the dropped records: those without a value, and those without a key.

        A record without a key is not dropped if the join forwards unmatched records of its side.
        """
        no_value = int((inputs.codes == NO_VALUE).sum())
        if no_value:
            self.context.drop("null-value", no_value)
        no_key = inputs.sides[inputs.codes == NO_KEY]
        dropped = sum(int((no_key == side).sum()) for side in (0, 1) if not self._keeps[side])
        if dropped:
            self.context.drop("null-key", dropped)

    def advance(self, stream_time_ms: int) -> None:
        """Forward unmatched records whose windows have closed.

        Also releases the batch's objects that have no Arrow type.
        """
        clocks, setup = self._rows.clocks(), self._setup
        passed = (stream_time_ms - setup.close(side, 0) > clocks.final(side) for side in (0, 1))
        if clocks.number and any(self._keeps) and any(passed):
            self._close(stream_time_ms)
        super().advance(stream_time_ms)

    def _close_all(self) -> None:
        closes = [self._rows.last_close(), self._tail.last_close(self._keeps)]
        last = max((close for close in closes if close is not None), default=None)
        if last is not None:
            self._close(last + 1)
        self.held.clear()

    def _close(self, now: int) -> None:
        """Forward unmatched records whose join window has closed at a stream time, ms."""
        outcome = self._run(JoinInput.none(self._sources), now)
        results = ended_results(outcome, self._joiner, self._sources, self.held)
        if results is not None:
            self.context.forward(results)
