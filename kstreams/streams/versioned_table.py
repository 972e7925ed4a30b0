"""`VersionedTable`: a table whose rows can be joined as of a time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

from kstreams._types import V2, K, V
from kstreams.graph import nodes
from kstreams.serde.base import Serde
from kstreams.state.stores.queue.kind import queue_store
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.streams.join_steps import Joinable, JoinCall
from kstreams.streams.stream import Stream
from kstreams.streams.stream_base import StreamBase
from kstreams.streams.table import Table

__all__ = ("AsOf", "VersionedTable")

_Rows = StoreSpec[TimestampedStore[K, V]] | str | None


class VersionedTable(Table[K, V]):
    """A table that retains earlier versions of its rows; created by `Streams.versioned_table`.

    `map_values`, `filter` and `derive` return versioned tables. A stream that joins the table reads
    the row as of the time of the stream's record. Source: KIP-914.
    """

    def map_values(
        self,
        function: Callable[[V], V2 | None],
        *,
        value: Serde[V2] | None = None,
        store: _Rows[K, V2] = None,
    ) -> VersionedTable[K, V2]:
        """Return a versioned table of the results of a function; see `Table.map_values`."""
        return _versioned(super().map_values(function, value=value, store=store))

    def filter(
        self, predicate: Callable[[K, V], bool], *, store: _Rows[K, V] = None
    ) -> VersionedTable[K, V]:
        """Return a versioned table of the rows for which a predicate is true."""
        return _versioned(super().filter(predicate, store=store))

    def derive(
        self,
        function: Callable[[K, V], V2 | None],
        *,
        value: Serde[V2] | None = None,
        store: _Rows[K, V2] = None,
    ) -> VersionedTable[K, V2]:
        """Return a versioned table of the results of a function of key and value."""
        return _versioned(super().derive(function, value=value, store=store))

    def as_of(self, *, grace: timedelta) -> AsOf[K, V]:
        """Return the right side of a join that waits for rows which arrive late.

        Args:
            grace: The time for which records wait, by stream time; see
                `TopologyBuilder.join_as_of`.

        Source: `KStream#join(KTable, Joined#withGracePeriod)` (KIP-923).
        """
        return AsOf(self, grace)


def _versioned(table: Table[K, V]) -> VersionedTable[K, V]:
    return VersionedTable(table._plan, table._facts, table._table)


class AsOf(Joinable[K, V]):
    """The right side of a join with the rows as of a record's time, by `VersionedTable.as_of`."""

    def __init__(self, table: VersionedTable[K, V], grace: timedelta) -> None:
        super().__init__(table._plan, table._facts)
        self._right = table
        self._grace = grace

    def _joined(self, stream: StreamBase[K, Any], call: JoinCall) -> Stream[K, Any]:
        plan, facts, grace = self._plan, stream._facts, self._grace
        serdes = {"key": facts.key, "value": facts.value}
        spec = self._store(None, call.name, call.facts.call, queue_store, **serdes)
        parent, table = stream._take(), self._right._changes()

        def make() -> nodes.Node[K, Any]:
            right = cast("nodes.VersionedTable[K, V]", table())
            return plan.builder.join_as_of(
                *(spec.name, parent(), right, call.joiner),
                grace=grace,
                waiting=spec,
                execution=call.execution,
            )

        return stream._stream(call.facts, make)
