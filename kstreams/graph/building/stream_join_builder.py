"""The builder's joins of two streams, and of a stream with a table as of a time."""

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
    """Adds stream-stream joins and as-of joins; see `TopologyBuilder`."""

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
        """Join the records of two streams that have the same key and nearby times.

        A pair has the later time of both records. Each side retains the records that are at most
        `before + after + grace` older than its newest record, so a record that arrives before its
        window closes meets every partner in range.

        The window of a left record closes once stream time has passed the record's time plus
        `after` plus the grace; for a right record, `before` replaces `after`. A record without a
        partner is then forwarded alone, with its own time and headers, before the results
        of the record that advanced stream time. That result is final: later partners do not join
        it. `idle_timeout` and `close_windows` close windows, too.

        Null values are dropped as `null-value`. A record with a null key is forwarded alone
        immediately if the joiner keeps its side; otherwise it is dropped as `null-key`. A record
        without a partner that arrives after its window has closed is forwarded alone immediately if
        the joiner keeps its side; otherwise it is dropped as `late`.

        A stream joined with itself gives the results of two equal streams: two records form a pair
        in each direction that `within` allows, and a record forms a pair with itself unless it is
        late. An inner join stores the records once.

        Args:
            name: The name of the node.
            left: The left stream.
            right: The right stream, with the same keys; may be the left stream.
            joiner: `inner(f)`, `left(f)` or `outer(f)`.
            within: The range of times: `within(before, after, grace=...)`.
            store: The `join_store` of the retained records, for this join only.
            execution: By records or by columns, with the same results; `auto` uses columns if
                possible.

        Raises:
            TopologyError: The store is not a `join_store`.

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
        """Join each record of a stream with a table as of the record's time.

        A record is buffered until another record of the stream is newer by at least the grace, so
        that table rows up to the record's time may arrive late; records are then joined in the
        order of time. A record that is already older by the grace when it arrives is joined
        immediately. `idle_timeout` and `close_windows` release buffered records, too. A record
        whose time is before the table's history has no row, and is counted as `no-history`. Null
        values are dropped as `null-value`; a null key has no row, and an inner join drops it as
        `null-key`.

        Args:
            name: The name of the node.
            stream: The node that forwards the stream's records.
            table: A versioned table, or a table derived from one, with the same keys.
            joiner: `inner(f)` or `left(f)`.
            grace: The time for which records are buffered, by the stream time of the stream.
                `build()` rejects a grace that is longer than the retention of the table's store.
            waiting: The `queue_store` of the buffered records, for this join only.
            execution: By columns if the results are the same (`auto`), by records (`records`), or
                by columns (`columns`, an error if that is not possible).

        Raises:
            TopologyError: The joiner is an outer joiner, the table is not versioned, or the store
                is not a `queue_store`.
            ValueError: The grace is negative or not a whole number of milliseconds.

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
