"""Collect the records of a loop, or of an edge in a topology with loops, with their hops."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams.errors import LoopError
from kstreams.graph.nodes import LoopEndNode, RepartitionNode
from kstreams.raw_batch import HOPS
from kstreams.record import Record
from kstreams.task.output.collector import Collector
from kstreams.task.progress.cursor import Cursor
from kstreams.task.records.columns import rows_of, whole

__all__ = ("Exceeded", "HopCollector")

Exceeded = Callable[[LoopEndNode, Record["bytes | None", "bytes | None"], LoopError], None]
"""Applies the policy to a record that exceeds the passes of a loop; raises to fail the batch."""

_HINT = (
    "let records leave the loop, or raise add_loop(max_hops=...). Builder(on_error="
    "'skip') drops such records, DeadLetter(topic) writes them to a dead-letter topic."
)


class HopCollector(Collector):
    """A collector that counts the passes of records, or of their origins, through loops.

    The origin of a forwarded record is the record that is being processed. Records that are
    forwarded at the end of a batch, or by a processor of tables, have no single origin; they get
    the minimum hops of the batch's records. So the hops of endlessly looping records still grow.

    Args:
        node: The edge, or the end of the loop.
        cursor: Has the current record and its loop passes.
        exceeded: Applies the policy to records with too many passes; required for the end of a
            loop.
        eager: Whether to encode records immediately.
        folder: The folder for rows that exceed the memory limit.
    """

    def __init__(
        self,
        node: RepartitionNode | LoopEndNode,
        cursor: Cursor,
        *,
        exceeded: Exceeded | None = None,
        eager: bool,
        folder: Path | None = None,
    ) -> None:
        edge = node.loop if isinstance(node, LoopEndNode) else node
        super().__init__(node.name, edge.name, edge.key, edge.value, eager=eager, folder=folder)
        self._end = node if isinstance(node, LoopEndNode) else None
        self._exceeded = exceeded
        self._cursor = cursor
        self._hops = array("i")
        self.take = self._counting(self.take)

    def _counting(
        self, take: Callable[[Record[Any, Any]], None]
    ) -> Callable[[Record[Any, Any]], None]:
        hops_now, note = self._cursor.hops, self._hops.append
        if self._end is None:

            def counted(record: Record[Any, Any]) -> None:
                take(record)
                note(hops_now())

            return counted
        most, end, exceeded = self._end.loop.max_hops, self._end, self._exceeded
        encoded = self._encoded

        def counted_round(record: Record[Any, Any]) -> None:
            hops = hops_now() + 1
            if hops > most:
                _deal_with(exceeded, end, record, encoded(record))
                return
            take(record)
            note(hops)

        return counted_round

    def mark(self) -> int:
        """Return the number of taken records, the argument of `cut`."""
        return len(self._hops)

    def cut(self, mark: int) -> None:
        """Drop the records that were taken after the call of `mark` that returned `mark`."""
        super().cut(mark)
        del self._hops[mark:]

    def take_table(self, table: pa.Table) -> None:
        """Collect a table that a batch processor forwards to this node."""
        hops = self._cursor.least_hops
        if self._end is not None:
            hops += 1
            if hops > self._end.loop.max_hops:
                for record in rows_of(whole(table)):
                    _deal_with(self._exceeded, self._end, record, self._encoded(record))
                return
        super().take_table(table)
        self._hops.extend([hops] * table.num_rows)

    def take_encoded(self, table: pa.Table) -> None:
        """Take an encoded table."""
        super().take_encoded(table)
        self._hops.extend([self._cursor.hops()] * table.num_rows)

    def drain(self) -> pa.Table | None:
        """Return the taken records with a column of hops, and clear them; None without records."""
        table = super().drain()
        if table is None:
            return None
        hops = pa.array(np.array(self._hops, np.int32))
        del self._hops[:]
        return table.append_column(HOPS, hops)


def _deal_with(
    exceeded: Exceeded | None,
    end: LoopEndNode,
    record: Record[Any, Any],
    encoded: Record[bytes | None, bytes | None],
) -> None:
    loop = end.loop
    error = LoopError(
        f"a record has passed through loop {loop.name!r} {loop.max_hops:,} times, and a result "
        f"would exceed this maximum (max_hops)",
        hint=_HINT,
    ).at(node=end.name, target=loop.name, timestamp=record.timestamp, key=record.key)
    if exceeded is None:
        raise error
    exceeded(end, encoded, error)
