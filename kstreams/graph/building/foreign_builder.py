"""The builder's tables that cross partitions: regrouped tables, and foreign-key joins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kstreams._types import K2, K, S, V
from kstreams.aggregators.aggregator import InvertibleAggregator, is_invertible
from kstreams.errors import TopologyError
from kstreams.graph.building.table_builder import TableBuilder
from kstreams.graph.nodes import Entry, Node, RepartitionNode, SourceNode, Table, serdes_of
from kstreams.joins.foreign.foreign_answer import ForeignAnswer
from kstreams.joins.foreign.foreign_messages import ResponseSerde, SubscriptionSerde
from kstreams.joins.foreign.foreign_results import ForeignResults
from kstreams.joins.foreign.foreign_subscribe import ForeignSubscribe
from kstreams.joins.joiner import VL, VO, VR, Joiner, OneSided
from kstreams.joins.table_rows import StoredRows
from kstreams.joins.tables.aggregate_table import aggregated_rows
from kstreams.joins.tables.change_serde import ChangeSerde
from kstreams.joins.tables.regroup_results import RegroupResults
from kstreams.joins.tables.regroup_send import RegroupSend
from kstreams.options import checks_options
from kstreams.partitioner import Partitioner
from kstreams.processors.aggregate import check_states
from kstreams.processors.emission import EachUpdate, OncePerBatch, once_per_batch
from kstreams.serde.base import Serde
from kstreams.serde.framed import plain_of
from kstreams.state.stores.kind import check_kind
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.subscription.kind import subscription_store
from kstreams.state.stores.timestamped.kind import TIMESTAMPED
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.topic import default_partitioner

__all__ = ("ForeignBuilder",)

A = TypeVar("A")
"""Type of the results of an aggregation."""
KR = TypeVar("KR")
"""Type of the right table's keys."""

_ONCE = once_per_batch()


class ForeignBuilder(TableBuilder):
    """Adds tables whose rows come from other partitions; see `TopologyBuilder`."""

    @checks_options
    def regroup(
        self,
        name: str,
        table: Table[K, V],
        by: Callable[[K, V], K2 | None],
        aggregator: InvertibleAggregator[K2, V, S, A],
        *,
        store: StoreSpec[TimestampedStore[K2, S]],
        emit: EachUpdate | OncePerBatch = _ONCE,
        value: Serde[V] | None = None,
    ) -> Table[K2, A]:
        """Group a table's rows by another key, and aggregate each group.

        At every commit, a result is the aggregate of all current rows of its group: a changed row
        is removed from its old group and added to its new group, and a group without rows has no
        result. If a row stays in its group, its old and new value are sent as one record, so that
        neither can fail alone. Sums of doubles are exact, and rounded once. In a versioned table,
        only the latest version of a row counts.

        Args:
            name: Name of the table; its repartition edge is `<name>-repartition`, and the numbers
                of rows per group are in the store `<store>-members`.
            table: The table with the rows.
            by: Returns the group of a row from its key and value; None for no group. The function
                is called again when the row changes, so its result must depend only on the row.
            aggregator: Aggregates the rows of a group; must be able to remove rows.
            store: The store of the results; its `value` is the aggregator's `state`.
            emit: Whether groups receive the net change of each key in a batch (`once_per_batch()`,
                the default) or each change (`each_update()`).
            value: Serde of the table's values; by default the value serde of its store.

        Raises:
            TopologyError: The aggregator cannot remove rows, the store is not a `timestamped_store`
                with the aggregator's serde, or the table has no store and `value` is missing.

        Source: `KTable#groupBy` with `KGroupedTable#aggregate`.
        """
        rows = self._rows_of(name, table)
        if not is_invertible(aggregator):
            raise TopologyError(
                f"table {name!r}: regroup needs an aggregator that can remove a record",
                hint="use count, sum_, mean, or variance, or fold or reducing with remove=.",
            )
        check_states(aggregator, store, "regroup needs")
        serde = self._value_of(name, table, value)
        edge = f"{name}-repartition"
        send = RegroupSend(by, rows.key, serde, store.key, edge, emit)
        sent = self._add(self._processor(f"{name}.changes", send, (table,)))
        moved = self._edge(edge, (sent,), store.key, ChangeSerde(serde))
        made = self._processor(name, RegroupResults(aggregator, store), (moved,), makes_table=True)
        return self._handle(name, self._add(made), aggregated_rows(aggregator, store))

    def join_foreign(
        self,
        name: str,
        left: Table[K, VL],
        right: Table[KR, VR],
        joiner: Callable[[], Joiner[VL, VR, VO, OneSided]],
        *,
        by: Callable[[K, VL], KR | None],
        store: StoreSpec[TimestampedStore[K, VO]],
        value: Serde[VL] | None = None,
    ) -> Table[K, VO]:
        """Join each row of a table with a row of another table by a foreign key.

        At every commit the results are exactly the join of both current tables. Left rows are
        stored by foreign key in the store `<store>-entered`, in the tasks of the right table; a
        changed right row is joined with all left rows that refer to it. A result that a left row
        causes has the later time of both rows; a result that a changed right row causes has the
        right row's time.

        Args:
            name: Name of the table. Its edges are `<name>-subscription-registration`, to the right
                table's tasks, and `<name>-subscription-response`, back to the tasks of the left
                keys.
            left: The table whose rows have foreign keys.
            right: The table that foreign keys refer to. It must be in another partition group.
            joiner: `inner(f)` or `left(f)`. With a left joiner, a row without a foreign key, or
                without a matching right row, is joined with None.
            by: Returns the foreign key of a left row from its key and value; None for no foreign
                key. The function is called again when the row changes, so its result must depend
                only on the row.
            store: The store of the results.
            value: Serde of the left table's values; by default the value serde of its store.

        Raises:
            TopologyError: The joiner is an outer one, the store's key serde differs from the left
                table's, or the left table has no store and `value` is missing.

        Source: `KTable#join` and `KTable#leftJoin` with a foreign key extractor (KIP-213), which
        are eventually consistent, and compare hashes of values.
        """
        key, foreign = self._rows_of(name, left).key, self._rows_of(name, right)
        made = joiner()
        _check_foreign(name, made, store, key)
        serde = self._value_of(name, left, value)
        foreign_key, partitioner = self._way_to(right)
        entered = _with_changelog(
            subscription_store(f"{store.name}-entered", foreign=foreign.key, key=key, value=serde),
            None if store.changelog is None else f"{store.changelog}-entered",
        )
        registration = f"{name}-subscription-registration"
        response, alone = f"{name}-subscription-response", f"{name}-without-right"
        speaks_alone = made.how == "left"
        subscribe = ForeignSubscribe(
            by,
            made,
            key,
            serde,
            foreign_key,
            foreign.key,
            store.value,
            registration,
            alone if speaks_alone else None,
        )
        sent = self._add(self._processor(f"{name}.subscribe", subscribe, (left,)))
        edge = self._edge(
            registration,
            (sent,),
            foreign_key,
            SubscriptionSerde(key, serde),
            partitioner,
            way_out=_way_out(name, left.name, right.name),
        )
        answer = ForeignAnswer(foreign, made, entered, serde, store.value, response)
        answered = self._add(self._joining(f"{name}.foreign", answer, edge, right))
        results = ResponseSerde(store.value)
        ways = [self._edge(response, (answered,), key, results)]
        if speaks_alone:
            ways.append(self._edge(alone, (sent,), key, results))
        node = self._processor(name, ForeignResults(store, made.how), ways, makes_table=True)
        return self._handle(name, self._add(node), StoredRows(store))

    def _edge(
        self,
        name: str,
        parents: tuple[Node[Any, Any], ...],
        key: Serde[Any],
        value: Serde[Any],
        partitioner: Partitioner | None = None,
        *,
        way_out: str = "",
    ) -> Node[Any, Any]:
        rule = default_partitioner(key) if partitioner is None else partitioner
        names = self._names(name, parents)
        return self._add(
            RepartitionNode(
                name,
                names,
                plain_of(key),
                plain_of(value),
                None,
                rule,
                self._on_error,
                way_out=way_out,
            )
        )

    def _way_to(self, table: Table[Any, Any]) -> tuple[Serde[Any], Partitioner]:
        """Return the key serde and partitioner that choose the task of a row of a table."""
        place: str | None = table.name
        while place is not None:
            node = self._nodes.get(place)
            if isinstance(node, Entry):
                way = node.topic if isinstance(node, SourceNode) else node
                return serdes_of(node)[0], way.partitioner
            place = node.parents[0] if node is not None and node.parents else None
        return table.rows.key, default_partitioner(table.rows.key)

    def _value_of(self, name: str, table: Table[Any, Any], value: Serde[Any] | None) -> Serde[Any]:
        """Return the serde of a table's values; raises `TopologyError` if it is unknown."""
        if value is not None:
            return plain_of(value)
        if isinstance(table.rows, StoredRows):
            return table.rows.store.value
        raise TopologyError(
            f"table {name!r} sends rows of {table.name!r} to other tasks, but {table.name!r} has "
            "no store, so the serde of its values is not known",
            hint=f"give value=, or give {table.name!r} a store.",
        )


def _check_foreign(
    name: str, joiner: Joiner[Any, Any, Any, Any], store: StoreSpec[Any], key: Serde[Any]
) -> None:
    if joiner.how == "outer":
        raise TopologyError(
            f"join {name!r}: there is no outer join by a foreign key",
            hint="use left(...): a foreign-key join cannot find right rows without a left row.",
        )
    check_kind(store, TIMESTAMPED, "join_foreign needs")
    if store.key != key:
        raise TopologyError(
            f"join {name!r}: store {store.name!r} has keys of {store.key.name}, but the left "
            f"table has keys of {key.name}",
            hint="results have the left table's keys: give the store the same serde.",
        )


def _with_changelog(spec: StoreSpec[Any], topic: str | None) -> StoreSpec[Any]:
    return spec if topic is None else spec.with_changelog(topic)


def _way_out(name: str, left: str, right: str) -> str:
    """Return the hint for the error of a foreign-key join that is not in three separate groups."""
    return (
        f"the join {name!r} needs three separate partition groups, for the rows of {left!r}, the "
        f"rows of {right!r} and its results, but another node, such as a join, connects two of "
        f"them; join a copy of the table that is in two groups, as in "
        f'copy = builder.to_table("{right}-copy", builder.repartition("{right}-by-key", '
        f'builder.to_stream("{right}-changes", {right}), key=KEY, value=VALUE, nulls="pass"), '
        "store=COPY)"
    )
