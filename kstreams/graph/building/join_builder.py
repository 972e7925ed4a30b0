"""The builder's joins with a table, and joins by the user's own processor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kstreams._types import K2, V2, K
from kstreams.errors import TopologyError
from kstreams.graph.building.table_builder import TableBuilder
from kstreams.graph.nodes import Node, Table, VersionedTable
from kstreams.joins.join_processor import JoinProcessor
from kstreams.joins.joiner import HOW, VL, VO, VR, Joiner, OneSided
from kstreams.joins.lookups.stream_table import StreamTableJoin
from kstreams.joins.table_rows import JoinedRows, StoredRows
from kstreams.joins.tables.table_join import TableJoin
from kstreams.options import checks_options
from kstreams.processors.columns import Execution
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.store import TimestampedStore

__all__ = ("JoinBuilder", "one_sided")


class JoinBuilder(TableBuilder):
    """Adds joins; see `TopologyBuilder`."""

    def add_join(
        self,
        name: str,
        supplier: Callable[[], JoinProcessor[K, VL, VR, K2, V2]],
        left: Node[K, VL],
        right: Node[K, VR],
        *,
        stores: Sequence[StoreSpec[object]] = (),
        reads: Sequence[StoreSpec[object]] = (),
    ) -> Node[K2, V2]:
        """Add a processor with two inputs.

        Both inputs are in one partition group. Records with equal keys are processed by the same
        task if their topics have equal partition counts, partitioners and key serdes.

        Args:
            name: Name of the node.
            supplier: Returns a new `JoinProcessor` at each call; usually a class.
            left: The node of the left input.
            right: The node of the right input; may be the same node.
            stores: Definitions of stores that `context.store` may return.
            reads: Stores of tables that `context.reader` may return.

        Raises:
            TopologyError: The supplier returns no `JoinProcessor`, or the same one twice.
        """
        return self._add(self._joining(name, supplier, left, right, stores=stores, reads=reads))

    @checks_options
    def join_table(
        self,
        name: str,
        stream: Node[K, VL],
        table: Table[K, VR],
        joiner: Callable[[], Joiner[VL, VR, VO, OneSided]],
        *,
        execution: Execution = "auto",
    ) -> Node[K, VO]:
        """Join each record of a stream with the table row of its key.

        The join reads the row after all records that the task has processed before, that is, all
        records with an earlier time. In a versioned table, or a table derived from one, the join
        reads the row as of the record's own time. Changes of the table give no results. Null values
        are dropped as `null-value`; a null key has no row, and an inner join drops it as
        `null-key`.

        Args:
            name: Name of the node.
            stream: The node that forwards the records.
            table: The table, with the same keys.
            joiner: `inner(f)` or `left(f)`.
            execution: `auto` joins by columns if the results are the same: stream and table are
                directly below sources or repartition edges, and only such joins read the table and
                tables derived from it. `records` never joins by columns; `columns` is an error in
                `build()` if columns are not possible. `Topology.describe` shows the choice and the
                reason.

        Source: `KStream#join(KTable)`, `KStream#leftJoin(KTable)`.
        """
        rows = self._rows_of(name, table)
        versioned = isinstance(table, VersionedTable)
        if isinstance(table, VersionedTable):
            rows = table.history
        join = StreamTableJoin(rows, one_sided(name, joiner), versioned, execution)
        return self._add(self._joining(name, join, stream, table))

    def join_tables(
        self,
        name: str,
        left: Table[K, VL],
        right: Table[K, VR],
        joiner: Callable[[], Joiner[VL, VR, VO, HOW]],
        *,
        store: StoreSpec[TimestampedStore[K, VO]] | None = None,
    ) -> Table[K, VO]:
        """Join two tables by key into a table, which changes when either table changes.

        The time of a result is the later time of both rows. One record that changes both tables
        gives one result. If the joiner's function returns None, there is no row.

        Args:
            name: Name of the table.
            left: The left table.
            right: The right table, with the same keys.
            joiner: `inner(f)`, `left(f)` or `outer(f)`; the function is called again when the table
                is read, unless there is a store.
            store: The store of the rows, for views and the command line.

        Source: `KTable#join`, `KTable#leftJoin`, `KTable#outerJoin`.
        """
        rows = self._rows_of(name, left), self._rows_of(name, right)
        made = joiner()
        node = self._add(self._joining(name, TableJoin(*rows, made, store), left, right))
        return self._handle(
            name, node, JoinedRows(*rows, made) if store is None else StoredRows(store)
        )


def one_sided(
    name: str, joiner: Callable[[], Joiner[VL, VR, VO, OneSided]]
) -> Joiner[VL, VR, VO, OneSided]:
    """Create the joiner; raises `TopologyError` if it is an outer joiner."""
    made = joiner()
    if made.how == "outer":
        raise TopologyError(
            f"join {name!r}: a stream and a table have no outer join",
            hint="use left(...), or join_tables(...) of two tables.",
        )
    return made
