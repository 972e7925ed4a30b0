"""The builder's global tables: every task can read every row of a global table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar, overload

from kstreams._types import K, V
from kstreams.errors import TopologyError
from kstreams.graph.building.table_builder import TableBuilder
from kstreams.graph.global_tables import AppTable, GlobalDefinition, GlobalTable
from kstreams.graph.nodes import AnyNode, Node, ProcessorNode, Start
from kstreams.joins.joiner import VL, VO, VR, Joiner, OneSided
from kstreams.joins.lookups.global_join import GlobalJoin
from kstreams.options import checks_options
from kstreams.processors.columns import Execution
from kstreams.processors.on_error import OnError
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.state.stores.versioned.store import VersionedKeyValueStore
from kstreams.topic import Topic

__all__ = ("GlobalBuilder", "global_problems", "with_global_reads")

KR = TypeVar("KR")
"""Type of a global table's keys."""


class GlobalBuilder(TableBuilder):
    """Adds global tables; see `TopologyBuilder`."""

    def __init__(self, name: str, on_error: OnError) -> None:
        super().__init__(name, on_error)
        self._globals: dict[str, GlobalDefinition] = {}

    @overload
    def add_global_table(
        self,
        name: str,
        source: Topic[K, V | None] | Topic[K, V],
        *,
        store: StoreSpec[TimestampedStore[K, V]] | StoreSpec[VersionedKeyValueStore[K, V]],
        start: Start = ...,
        on_error: OnError | None = ...,
    ) -> GlobalTable[K, V]: ...
    @overload
    def add_global_table(self, name: str, source: AppTable[K, V]) -> GlobalTable[K, V]: ...
    @checks_options
    def add_global_table(
        self,
        name: str,
        source: Topic[Any, Any] | AppTable[Any, Any],
        *,
        store: StoreSpec[Any] | None = None,
        start: Start = "earliest",
        on_error: OnError | None = None,
    ) -> GlobalTable[Any, Any]:
        """Add a global table, whose rows every task can read by any key.

        All tasks and attempts of a batch read the same committed version of the table: the newest
        version when the batch was planned. A separate query fills a table from its topic; when the
        app starts, this query reads the topic to its end before other queries start. The table's
        store supports deltas, snapshots, savepoints and views, like any other store. Null values
        delete rows, null keys are dropped as `null-key`.

        With RocksDB, each machine has one copy of the table; with `Memory()`, each worker has one
        copy, of at most 64 MiB of state.

        Args:
            name: Name of the table; its source node is `<name>.source`.
            source: A topic, or an `AppTable` of another app.
            store: The store for the rows of a topic, as for `add_table`. A processor with
                `reads=[store]` can read the table.
            start: The start without a checkpoint, as for `add_source`.
            on_error: The policy for records that cannot be decoded; the builder's policy by
                default.

        Raises:
            TopologyError: This store kind cannot hold a table, a store is missing for a topic, or a
                store is given for an `AppTable`.

        Source: `StreamsBuilder#globalTable`; goka's `Lookup`.
        """
        if isinstance(source, AppTable):
            if store is not None:
                raise TopologyError(
                    f"global table {name!r} of another app must not have store=",
                    hint="leave out store=; AppTable(checkpoint, store) names the store.",
                )
            return self._global(GlobalDefinition(name, source.store, source))
        if store is None:
            raise TopologyError(
                f"global table {name!r} has no store",
                hint="give store=timestamped_store(...) for its rows.",
            )
        self.add_table(name, source, store=store, start=start, on_error=on_error)
        return self._global(GlobalDefinition(name, store, None))

    @checks_options
    def join_global(
        self,
        name: str,
        stream: Node[K, VL],
        table: GlobalTable[KR, VR],
        joiner: Callable[[], Joiner[VL, VR, VO, OneSided]],
        *,
        by: Callable[[K, VL], KR | None],
        execution: Execution = "auto",
    ) -> Node[K, VO]:
        """Join each record of a stream with a row of a global table, by a computed key.

        The row is read from the table version of the batch; from a versioned table, the row as of
        the record's time. Changes of the table give no results. Null values are dropped as
        `null-value`.

        Args:
            name: Name of the node.
            stream: The node that forwards the records, with any partitioning.
            table: The result of `add_global_table`.
            joiner: `inner(f)` or `left(f)`.
            by: Returns the key of the global table's row from the record's key and value. None
                means no row: a left join passes None to the joiner, an inner join drops the record
                as `null-foreign-key`.
            execution: `auto` joins by columns if the results are the same: directly below sources
                or repartition edges, or below nodes that run by columns, with a table that is not
                versioned. `records` never does; `columns` is an error in `build()` if it is not
                possible.

        Source: `KStream#join(GlobalKTable)`, `KStream#leftJoin(GlobalKTable)`.
        """
        if not isinstance(table, GlobalTable):
            raise TopologyError(
                f"node {name!r} needs a global table, but got a {type(table).__name__}",
                hint="make one with add_global_table, or join a table by join_table.",
            )
        if table.builder is not self:
            self._problems.append(f"node {name!r}: table {table.name!r} belongs to another builder")
        made = joiner()
        if made.how == "outer":
            raise TopologyError(
                f"join {name!r}: a stream and a global table have no outer join",
                hint="use left(...).",
            )
        supplier = GlobalJoin(table.store, made, by, execution)
        return self._add(self._processor(name, supplier, (stream,), reads=(table.store,)))

    def _global(self, table: GlobalDefinition) -> GlobalTable[Any, Any]:
        if not table.store.kind.is_table:
            raise TopologyError(
                f"global table {table.name!r}: store {table.store.name!r} is a "
                f"{table.store.kind.name} store, which is not a store of tables",
                hint="use a timestamped_store(...) or a versioned_key_value_store(...).",
            )
        other = self._globals.setdefault(table.store.name, table)
        if other is not table:
            self._problems.append(
                f"global tables {other.name!r} and {table.name!r} both have store "
                f"{table.store.name!r}: give each table its own store"
            )
        return GlobalTable(table.name, table.store, self)


def with_global_reads(
    nodes: Mapping[str, AnyNode], tables: Mapping[str, GlobalDefinition]
) -> dict[str, AnyNode]:
    """Return the nodes, with stores of global tables moved from `reads` to `globals`."""
    stores = [table.store for table in tables.values()]
    return {
        name: replace(
            node,
            reads=tuple(spec for spec in node.reads if spec not in stores),
            globals=tuple(spec for spec in node.reads if spec in stores),
        )
        if isinstance(node, ProcessorNode)
        else node
        for name, node in nodes.items()
    }


def global_problems(
    nodes: Mapping[str, AnyNode], tables: Mapping[str, GlobalDefinition]
) -> Iterator[str]:
    """Yield a problem for each node that may write the store of a global table."""
    for node in nodes.values():
        for spec in node.stores if isinstance(node, ProcessorNode) else ():
            table = tables.get(spec.name)
            if table is not None and (table.app is not None or table.name != node.name):
                yield (
                    f"node {node.name!r} writes to store {spec.name!r} of global table "
                    f"{table.name!r}, but tasks may only read it: use reads=[...]"
                )
