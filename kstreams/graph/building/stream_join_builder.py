"""The builder's joins of two streams, and of a stream with a table as it was."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from kstreams._types import K
from kstreams.errors import TopologyError
from kstreams.graph.building.join_builder import JoinBuilder, one_sided
from kstreams.graph.nodes import Node, VersionedTable
from kstreams.joins.joiner import HOW, VL, VO, VR, Joiner, OneSided
from kstreams.joins.streams.as_of_join import AsOfJoin
from kstreams.joins.streams.self_join import SelfJoin
from kstreams.joins.streams.stream_join import StreamJoin
from kstreams.joins.within import Within
from kstreams.options import checks_options
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

    @checks_options
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

        A pair has the later time of both records. Each side remembers its records for
        `before + after + grace` from its newest record, that age included, so a record that
        comes before its window closes meets every partner in range.

        The window of a left record closes once stream time has passed its time, `after` and
        the grace; that of a right record once it has passed its time, `before` and the grace.
        A record without a partner is then forwarded alone, with its own time and headers,
        before the results of the record that moved stream time. That result is final: later
        partners do not join it. `idle_timeout` and `close_windows` close windows, too.

        Null values are dropped as `null-value`. A record with a null key is forwarded alone at
        once where the joiner keeps its side, else it is dropped as `null-key`. A record that
        comes after its window has closed, without a partner, is forwarded alone at once where
        the joiner keeps its side, else it is dropped as `late`.

        A stream joined with itself gives the results of two equal streams: two records make a
        pair in each direction that `within` allows, and a record makes one with itself, unless
        it is late. An inner join remembers the records once.

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
        same = left.name == right.name
        if same and made.how == "inner":
            itself = SelfJoin(made, within, store, execution)
            return self._add(self._joining(name, itself, left, right))
        join = StreamJoin(made, within, store, execution, of_itself=same)
        return self._add(self._joining(name, join, left, right))

    @checks_options
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
            table: A versioned table, or one derived from it, of the same keys.
            joiner: `inner(f)` or `left(f)`.
            grace: How long records wait, by the stream's own time. `build()` rejects a grace
                that is longer than the retention of the table's store.
            waiting: The `queue_store` of the waiting records, of this join alone.
            execution: By columns where the results are the same (`auto`), never
                (`records`), or always (`columns`, an error where it cannot).

        Raises:
            TopologyError: The joiner is an outer joiner, the table is not versioned, or the
                store is of another kind.
            ValueError: The grace is negative or no whole number of milliseconds.

        Source: `KStream#join(KTable, Joined#withGracePeriod)` (KIP-923).
        """
        check_kind(waiting, QUEUE, f"join {name!r} needs")
        self._rows_of(name, table)
        if not isinstance(table, VersionedTable):
            raise TopologyError(
                f"join {name!r}: table {table.name!r} is not versioned",
                hint="give the table a versioned_key_value_store, or use join_table(...).",
            )
        made = one_sided(name, joiner)
        join = AsOfJoin(table.history, made, span_ms("grace", grace), waiting, execution)
        return self._add(self._joining(name, join, stream, table))
