"""The builder's joins of two streams, and of a stream with a table as it was."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from kstreams._types import K
from kstreams.errors import TopologyError
from kstreams.graph.join_builder import JoinBuilder, one_sided
from kstreams.graph.nodes import Node, VersionedTable
from kstreams.joins.as_of_join import AsOfJoin
from kstreams.joins.joiner import HOW, VL, VO, VR, Joiner, OneSided
from kstreams.joins.self_join import SelfJoin
from kstreams.joins.stream_join import StreamJoin
from kstreams.joins.table_rows import StoredRows
from kstreams.joins.within import Within
from kstreams.processors.columns import Execution
from kstreams.state.stores.join.kind import JOIN
from kstreams.state.stores.join.store import JoinStore
from kstreams.state.stores.kind import check_kind
from kstreams.state.stores.queue.kind import QUEUE
from kstreams.state.stores.queue.store import QueueStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.times import span_ms

__all__ = ("StreamJoinBuilder",)


class StreamJoinBuilder(JoinBuilder):
    """Adds joins of streams; see `TopologyBuilder`."""

    def join_streams(
        self,
        name: str,
        left: Node[K, VL],
        right: Node[K, VR],
        joiner: Callable[[], Joiner[VL, VR, VO, HOW]],
        *,
        within: Within,
        store: StoreSpec[JoinStore[K, VL, VR]],
        execution: Execution = "auto",
    ) -> Node[K, VO]:
        """Join records of one key that are near each other in time.

        A pair's time is the later one of both. A side remembers its records as far back as
        `within` goes, grace and all, from the newest of them. A record that the joiner wants
        alone goes out once the grace is over by the task's stream time, right behind the
        record that ended it, with its own time, if it had no partner by then; that is final:
        a partner that comes later does not find it. `idle_timeout` and `close_windows`
        release what waits.

        Null values are dropped as `null-value`. A null key has no partner: it goes out alone
        at once where the joiner wants that, else it is dropped as `null-key`. A record that
        comes after the grace, finds nobody and does not go out alone is counted as `late`.

        A stream joined with itself remembers its records once. Each two of them make a pair
        in either direction that `within` allows, each record one with itself.

        Args:
            name: Name of the node.
            left: The left stream.
            right: The right one, of the same keys; may be the left one.
            joiner: `inner(f)`, `left(f)` or `outer(f)`.
            within: How near they are: `within(before, after, grace=...)`.
            store: What is remembered: a `join_store`, of this join alone.
            execution: By records or by columns, with the same results; `auto` takes columns
                where it can.

        Raises:
            TopologyError: The store is of another kind.

        Source: `KStream#join(KStream)`, `KStream#leftJoin`, `KStream#outerJoin`.
        """
        check_kind(store, JOIN, f"join {name!r} needs")
        made = joiner()
        if left.name != right.name:
            join = StreamJoin(made, within, store, execution)
            return self._add(self._joining(name, join, left, right))
        itself = SelfJoin(made, within, store, execution)
        return self._add(self._joining(name, itself, left, right))

    def join_as_of(
        self,
        name: str,
        stream: Node[K, VL],
        table: VersionedTable[K, VR],
        joiner: Callable[[], Joiner[VL, VR, VO, OneSided]],
        *,
        grace: timedelta,
        waiting: StoreSpec[QueueStore[K, VL]],
        execution: Execution = "auto",
    ) -> Node[K, VO]:
        """Join each record of a stream with a table as it was at the record's time.

        A record waits until another one of the stream is newer by the grace, so that rows of
        its time and before may come late; then it is joined, in the order of time. One that is
        that old when it comes is joined at once. What waits is released by `idle_timeout` and
        `close_windows` too. A time that the table's history does not reach has no row, and is
        counted as `no-history`. Null values are dropped as `null-value`; a null key has no
        row, and is dropped by an inner join as `null-key`.

        Args:
            name: Name of the node.
            stream: Where the records come from.
            table: A versioned table, of the same keys.
            joiner: `inner(f)` or `left(f)`.
            grace: How long records wait, by the stream's own time.
            waiting: Where they do: a `queue_store`, of this join alone.
            execution: By columns where the results are the same (`auto`), never
                (`records`), or always (`columns`, an error where it cannot).

        Raises:
            TopologyError: The joiner is an outer one, or a store is of another kind.
            ValueError: The grace is negative or no whole number of milliseconds.

        Source: `KStream#join(KTable, Joined#withGracePeriod)` (KIP-923).
        """
        check_kind(waiting, QUEUE, f"join {name!r} needs")
        rows = self._rows_of(name, table)
        if not isinstance(rows, StoredRows) or not rows.store.kind.has_history:
            raise TopologyError(
                f"join {name!r}: table {table.name!r} does not know what its rows were",
                hint="give the table a versioned_key_value_store, or use join_table(...).",
            )
        made = one_sided(name, joiner)
        join = AsOfJoin(rows.store, made, span_ms("grace", grace), waiting, execution)
        return self._add(self._joining(name, join, stream, table))
