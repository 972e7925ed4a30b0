"""The builder's tables: from topics, from streams and from other tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar, overload

from kstreams._types import V2, K, V
from kstreams.errors import TopologyError
from kstreams.graph.building.builder_base import BuilderBase
from kstreams.graph.nodes import Node, NodeHandle, SourceNode, Start, Table, VersionedTable
from kstreams.joins.table_rows import DerivedRows, StoredRows, TableRows
from kstreams.joins.tables.aggregate_table import AggregateTable, aggregated_rows
from kstreams.joins.tables.derive import Derive
from kstreams.joins.tables.expiry import Expiry
from kstreams.joins.tables.materialize import Materialize
from kstreams.joins.tables.to_stream import ToStream
from kstreams.options import checks_options
from kstreams.processors.aggregate import AggregateSupplier
from kstreams.processors.emission import EachUpdate, OncePerBatch, once_per_batch
from kstreams.processors.event_time import EventTime
from kstreams.processors.on_error import OnError
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.state.stores.versioned.store import VersionedKeyValueStore
from kstreams.times import is_forever, positive_ms
from kstreams.topic import Topic

__all__ = ("TableBuilder",)

A = TypeVar("A")
"""Type of the results of an aggregation."""

_ONCE = once_per_batch()


class TableBuilder(BuilderBase):
    """Adds tables; see `TopologyBuilder`."""

    @overload
    def add_table(
        self,
        name: str,
        topic: Topic[K, V | None] | Topic[K, V],
        *,
        store: StoreSpec[VersionedKeyValueStore[K, V]],
        start: Start = ...,
        on_error: OnError | None = ...,
        ttl: timedelta | None = ...,
    ) -> VersionedTable[K, V]: ...
    @overload
    def add_table(
        self,
        name: str,
        topic: Topic[K, V | None] | Topic[K, V],
        *,
        store: StoreSpec[TimestampedStore[K, V]],
        start: Start = ...,
        on_error: OnError | None = ...,
        ttl: timedelta | None = ...,
    ) -> Table[K, V]: ...
    @checks_options
    def add_table(
        self,
        name: str,
        topic: Topic[Any, Any],
        *,
        store: StoreSpec[Any],
        start: Start = "earliest",
        on_error: OnError | None = None,
        ttl: timedelta | None = None,
    ) -> Table[Any, Any]:
        """Add a table, which keeps the last value of each key of a topic.

        A null value deletes the row of its key, also with the topic's `nulls="drop"`. Null keys are
        dropped as `null-key`. At equal times, a table's records are processed before records of
        streams.

        Args:
            name: Name of the table; its source is `<name>.source`.
            topic: The topic, usually a compacted one.
            store: The store of the rows: a `timestamped_store`, in which the last record of a key
                counts, or a `versioned_key_value_store`, which keeps the values of a key by time.
            start: The start without a checkpoint, as for `add_source`.
            on_error: The policy for records that cannot be decoded or processed; the builder's
                policy by default.
            ttl: Time to live of a row, from the row's time, by the task's stream time; None or
                `forever`: no limit. The expiry of a row is forwarded as a change, right after the
                record that advanced stream time; until then the row can be read.

        Raises:
            TopologyError: This store kind cannot hold a table.
            ValueError: `ttl` is not positive.

        Source: `StreamsBuilder#table`.
        """
        policy = self._on_error if on_error is None else on_error
        passing: Topic[Any, Any] = Topic(
            topic.name,
            topic.key,
            topic.value,
            nulls="pass",
            null_keys="pass" if topic.null_keys == "pass" else "drop",
            partitioner=topic.partitioner,
            misplaced=topic.misplaced,
            framing=topic.framing,
        )
        source = SourceNode(f"{name}.source", passing, start, policy, EventTime())
        return self._table(name, self._add(source), store, ttl)

    @overload
    def to_table(
        self,
        name: str,
        node: Node[K, V | None] | Node[K, V],
        *,
        store: StoreSpec[VersionedKeyValueStore[K, V]],
        ttl: timedelta | None = ...,
    ) -> VersionedTable[K, V]: ...
    @overload
    def to_table(
        self,
        name: str,
        node: Node[K, V | None] | Node[K, V],
        *,
        store: StoreSpec[TimestampedStore[K, V]],
        ttl: timedelta | None = ...,
    ) -> Table[K, V]: ...
    def to_table(
        self,
        name: str,
        node: Node[Any, Any],
        *,
        store: StoreSpec[Any],
        ttl: timedelta | None = None,
    ) -> Table[Any, Any]:
        """Convert a stream to a table of the last value of each key; None deletes a row.

        Args:
            name: Name of the table.
            node: The node that forwards the records; use `repartition` after a change of the key.
            store: The store of the rows, as for `add_table`.
            ttl: See `add_table`.

        Raises:
            TopologyError: This store kind cannot hold a table, or the node is already a table.
            ValueError: `ttl` is not positive.

        Source: `KStream#toTable`.
        """
        if isinstance(node, Table):
            raise TopologyError(
                f"table {name!r}: {node.name!r} is a table already",
                hint="use it as it is, or to_stream(...) to get a stream of its values.",
            )
        return self._table(name, node, store, ttl)

    def aggregate_table(
        self,
        name: str,
        supplier: AggregateSupplier[K, V, A],
        *parents: Node[K, V],
        ttl: timedelta | None = None,
    ) -> Table[K, A]:
        """Aggregate all records of a key into a table.

        Null keys and null values are dropped, as `null-key` and `null-value`. Each change is
        forwarded to downstream nodes; `to_stream(emit=...)` determines when results are emitted to
        a stream, so the supplier's own `emit` is ignored.

        Args:
            name: Name of the table.
            supplier: The result of `aggregate(...)` or `reduce(...)`; its `execution` also applies
                to the table.
            parents: The nodes that forward the records.
            ttl: See `add_table`; a key that reappears after its row has expired starts with an
                empty aggregate.

        Raises:
            ValueError: `ttl` is not positive.

        Source: `KGroupedStream#aggregate`.
        """
        aggregator, store = supplier.aggregator, supplier.store
        made = AggregateTable(aggregator, store, supplier.execution)
        rows = aggregated_rows(aggregator, store)
        return self._keeping(name, made, parents, rows, store, ttl)

    @overload
    def derive(
        self,
        name: str,
        table: VersionedTable[K, V],
        function: Callable[[K, V], V2 | None],
        *,
        store: StoreSpec[TimestampedStore[K, V2]] | None = ...,
    ) -> VersionedTable[K, V2]: ...
    @overload
    def derive(
        self,
        name: str,
        table: Table[K, V],
        function: Callable[[K, V], V2 | None],
        *,
        store: StoreSpec[TimestampedStore[K, V2]] | None = ...,
    ) -> Table[K, V2]: ...
    def derive(
        self,
        name: str,
        table: Table[K, V],
        function: Callable[[K, V], V2 | None],
        *,
        store: StoreSpec[TimestampedStore[K, V2]] | None = None,
    ) -> Table[K, V2]:
        """Derive a table from another table, row by row: filter and map in one step.

        The table is versioned if the other table is, with the same versions and retention, with a
        separate store or without.

        Args:
            name: The name of the table.
            table: The other table.
            function: Returns the derived value of a row from its key and value; None for no row.
                The function is called again when the current row is read, unless there is a store,
                and when a version is read: its result must depend only on its arguments.
            store: The store of the current rows, for views and the command line.

        Raises:
            TopologyError: The store is a versioned store.

        Source: `KTable#filter`, `KTable#mapValues`, KIP-914.
        """
        rows = self._rows_of(name, table)
        if store is not None and store.kind.has_history:
            raise TopologyError(
                f"table {name!r}: store {store.name!r} is a {store.kind.name} store, but a "
                f"derived table uses the versions of {table.name!r}",
                hint="give the derived table a timestamped_store(...), or no store.",
            )
        node = self._add(self._processor(name, Derive(function, store), (table,)))
        derived = DerivedRows(rows, function) if store is None else StoredRows(store)
        if isinstance(table, VersionedTable):
            return VersionedTable(name, self, derived, DerivedRows(table.history, function))
        return self._handle(name, node, derived)

    @checks_options
    def to_stream(
        self, name: str, table: Table[K, V], *, emit: EachUpdate | OncePerBatch = _ONCE
    ) -> Node[K, V | None]:
        """Convert a table to a stream of its new values.

        Args:
            name: Name of the node.
            table: The table; None is forwarded for a deleted row.
            emit: `once_per_batch()` (the default) forwards the last change of each key and batch,
                and nothing for a key whose value is the same as before the batch; `each_update()`
                forwards each change.

        Source: `KTable#toStream`.
        """
        return self._add(
            self._processor(name, ToStream(self._rows_of(name, table).key, emit), (table,))
        )

    def _table(
        self, name: str, node: NodeHandle, store: StoreSpec[Any], ttl: timedelta | None = None
    ) -> Table[Any, Any]:
        """Add a node that puts records into a table's store."""
        made = Materialize(_checked(name, store))
        handle = self._keeping(name, made, (node,), StoredRows(store), store, ttl)
        if store.kind.has_history:
            return VersionedTable(name, self, handle.rows, handle.rows)
        return handle

    def _keeping(
        self,
        name: str,
        supplier: Callable[[], object],
        parents: Sequence[NodeHandle],
        rows: TableRows,
        store: StoreSpec[Any],
        ttl: timedelta | None,
        *,
        makes_table: bool = True,
    ) -> Table[Any, Any]:
        """Add a node that stores a table's rows and, with a `ttl`, a node that expires rows."""
        if ttl is None or is_forever(ttl):
            node = self._processor(name, supplier, parents, makes_table=makes_table)
            return self._handle(name, self._add(node), rows)
        made = self._processor(f"{name}.rows", supplier, parents, makes_table=makes_table)
        expiry = Expiry(rows, store, positive_ms("ttl", ttl))
        return self._handle(
            name, self._add(self._processor(name, expiry, (self._add(made),))), rows
        )

    def _handle(self, name: str, node: NodeHandle, rows: TableRows) -> Table[Any, Any]:
        return Table(node.name, self, rows)

    def _rows_of(self, name: str, table: object) -> TableRows:
        """Return the definition of a table's rows.

        Raises:
            TopologyError: The argument is not a table.
        """
        if not isinstance(table, Table):
            raise TopologyError(
                f"node {name!r} needs a table, but got a {type(table).__name__}",
                hint="make one with add_table, to_table or aggregate_table.",
            )
        return table.rows


def _checked(name: str, store: StoreSpec[Any]) -> StoreSpec[Any]:
    if not store.kind.is_table:
        raise TopologyError(
            f"table {name!r}: store {store.name!r} is a {store.kind.name} store, which is not a "
            "store of tables",
            hint="define it with timestamped_store(...) or versioned_key_value_store(...).",
        )
    return store
