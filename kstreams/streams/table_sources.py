"""The tables of `Streams`: from topics, and from other apps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, cast, overload

from kstreams._types import K, V
from kstreams.graph.global_tables import AppTable
from kstreams.graph.nodes import Start
from kstreams.options import checks_options
from kstreams.processors.on_error import OnError
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from kstreams.state.stores.versioned.store import VersionedKeyValueStore
from kstreams.streams.checks import check_no_name, check_topic, checks_first
from kstreams.streams.facts import Facts, new_facts
from kstreams.streams.join_steps import GlobalTable
from kstreams.streams.part import Part
from kstreams.streams.plan import Plan, call_of
from kstreams.streams.table import Table
from kstreams.streams.versioned_table import VersionedTable
from kstreams.topic import Topic

__all__ = ("TableSources",)

_Rows = StoreSpec[TimestampedStore[K, V]] | str | None
_Versions = StoreSpec[VersionedKeyValueStore[K, V]] | str | None


class TableSources:
    """The methods of `Streams` that read tables."""

    _plan: Plan

    @overload
    def table(
        self,
        topic: Topic[K, V | None],
        *,
        store: _Rows[K, V] = ...,
        ttl: timedelta | None = ...,
        start: Start = ...,
        on_error: OnError | None = ...,
    ) -> Table[K, V]: ...
    @overload
    def table(
        self,
        topic: Topic[K, V],
        *,
        store: _Rows[K, V] = ...,
        ttl: timedelta | None = ...,
        start: Start = ...,
        on_error: OnError | None = ...,
    ) -> Table[K, V]: ...
    @checks_first(check_topic)
    @checks_options
    def table(
        self,
        topic: Topic[Any, Any],
        *,
        store: StoreSpec[Any] | str | None = None,
        ttl: timedelta | None = None,
        start: Start = "earliest",
        on_error: OnError | None = None,
    ) -> Table[Any, Any]:
        """Read a topic as a table; a null deletes a row; see `StreamsBuilder#table`.

        Args:
            topic: The topic, usually a compacted one.
            store: The definition of the store, or its name; by default the topic's name.
            ttl: See `TopologyBuilder.add_table`.
            start: See `TopologyBuilder.add_table`.
            on_error: See `TopologyBuilder.add_table`.
        """
        options = {"ttl": ttl, "start": start, "on_error": on_error}
        part, made = self._table("table", topic, store, timestamped_store, options)
        return Table(self._plan, part._facts, made)

    @overload
    def versioned_table(
        self,
        topic: Topic[K, V | None],
        *,
        history: timedelta,
        store: _Versions[K, V] = ...,
        ttl: timedelta | None = ...,
        start: Start = ...,
        on_error: OnError | None = ...,
    ) -> VersionedTable[K, V]: ...
    @overload
    def versioned_table(
        self,
        topic: Topic[K, V],
        *,
        history: timedelta,
        store: _Versions[K, V] = ...,
        ttl: timedelta | None = ...,
        start: Start = ...,
        on_error: OnError | None = ...,
    ) -> VersionedTable[K, V]: ...
    @checks_first(check_topic)
    @checks_options
    def versioned_table(
        self,
        topic: Topic[Any, Any],
        *,
        history: timedelta,
        store: StoreSpec[Any] | str | None = None,
        ttl: timedelta | None = None,
        start: Start = "earliest",
        on_error: OnError | None = None,
    ) -> VersionedTable[Any, Any]:
        """Read a topic as a table that retains the versions of its rows; see `table`.

        Args:
            topic: The topic.
            history: The maximum age of readable versions; unused if `store` is a definition.
            store: The definition of the store, or its name; by default the topic's name.
            ttl: See `TopologyBuilder.add_table`.
            start: See `TopologyBuilder.add_table`.
            on_error: See `TopologyBuilder.add_table`.
        """
        options = {"ttl": ttl, "start": start, "on_error": on_error}
        make = partial(versioned_key_value_store, retention=history)
        part, made = self._table("versioned_table", topic, store, make, options)
        return VersionedTable(self._plan, part._facts, made)

    @overload
    def global_table(
        self,
        source: Topic[K, V | None],
        *,
        store: _Rows[K, V] | _Versions[K, V] = ...,
        start: Start = ...,
        on_error: OnError | None = ...,
    ) -> GlobalTable[K, V]: ...
    @overload
    def global_table(
        self,
        source: Topic[K, V] | AppTable[K, V],
        *,
        store: _Rows[K, V] | _Versions[K, V] = ...,
        start: Start = ...,
        on_error: OnError | None = ...,
    ) -> GlobalTable[K, V]: ...
    @checks_first(check_no_name)
    @checks_options
    def global_table(
        self,
        source: Topic[Any, Any] | AppTable[Any, Any],
        *,
        store: StoreSpec[Any] | str | None = None,
        start: Start = "earliest",
        on_error: OnError | None = None,
    ) -> GlobalTable[Any, Any]:
        """Read a topic or an app's table in every task; see `StreamsBuilder#globalTable`.

        Args:
            source: The topic, or the table of another app.
            store: The definition of the store, or its name; by default the topic's name.
            start: See `TopologyBuilder.add_global_table`.
            on_error: See `TopologyBuilder.add_global_table`.
        """
        plan = self._plan
        if isinstance(source, AppTable):
            facts = self._source("global_table", source.store)
            plan.global_stores.append(source.store)
            return GlobalTable(
                Part(plan, facts),
                plan.later(lambda: plan.builder.add_global_table(facts.label, source)),
            )
        options = {"start": start, "on_error": on_error}
        return GlobalTable(*self._table("global_table", source, store, timestamped_store, options))

    def _source(self, operation: str, source: Any) -> Facts:  # noqa: ANN401  # a topic, log or store
        call = call_of(operation, repr(source.name))
        self._plan.serdes.learn(source.key, source.value)
        own = self._plan.owned(source.name, call)
        return new_facts(
            own,
            call,
            source.key.plain,
            source.value.plain,
            nulls=getattr(source, "nulls", "drop") == "pass",
            null_keys=getattr(source, "null_keys", "drop") == "pass",
            partitioner=getattr(source, "partitioner", None),
        )

    def _table(
        self,
        operation: str,
        topic: Topic[Any, Any],
        store: StoreSpec[Any] | str | None,
        make: Callable[..., StoreSpec[Any]],
        options: dict[str, Any],
    ) -> tuple[Part[Any, Any], Callable[[], Any]]:
        call, plan = call_of(operation, repr(topic.name)), self._plan
        plan.serdes.learn(topic.key, topic.value)
        key, value, rule = topic.key.plain, topic.value.plain, topic.partitioner
        part = Part[Any, Any](plan, new_facts("", call, key, value, partitioner=rule))
        spec = part._store(store, topic.name, call, make, key=topic.key, value=topic.value)
        part._facts = new_facts(spec.name, call, key, value, partitioner=rule)
        is_global = operation == "global_table"
        plan.global_stores += [spec] if is_global else []

        def add() -> object:
            builder: Any = plan.builder
            method = builder.add_global_table if is_global else builder.add_table
            return cast("object", method(spec.name, topic, store=spec, **options))

        return part, plan.later(add)
