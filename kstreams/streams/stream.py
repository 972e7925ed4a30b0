"""`Stream`: records of a topic, or the results of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from kstreams._types import K2, V2, K, V
from kstreams.errors import TopologyError
from kstreams.graph import nodes
from kstreams.graph.nodes import Node
from kstreams.graph.tokens import type_arguments
from kstreams.joins.join_processor import JoinProcessor
from kstreams.partitioner import Partitioner
from kstreams.processors.deduplicate import HeaderId, KeyId, LatePolicy, deduplicate
from kstreams.processors.filter import filter_
from kstreams.processors.on_error import OnError
from kstreams.processors.processor import BaseProcessor, BatchProcessor, Processor
from kstreams.processors.supplier import stores_of
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.text import BYTES
from kstreams.sink import Sink
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.stored_names import kebab
from kstreams.streams.functions import may_be_none, name_of
from kstreams.streams.join_steps import JoinSteps
from kstreams.streams.names import dashed
from kstreams.streams.plan import Facts, Plan
from kstreams.streams.serdes import KnownSerde, needed
from kstreams.streams.stream_base import StreamBase
from kstreams.topic import Topic, TopicChoice

if TYPE_CHECKING:
    from kstreams.streams.grouped import GroupedStream
    from kstreams.streams.table import Table

__all__ = ("Loop", "Stream")

ID = TypeVar("ID")
"""The type of the ids of records."""
V3 = TypeVar("V3")
"""The type of the values of the other stream."""
_Stores = Sequence[StoreSpec[object]]
_Rows = StoreSpec[TimestampedStore[K, V]] | str | None


class Stream(JoinSteps[K, V]):
    """Records of a topic, or the results of steps; each call returns another object.

    Functions receive the value, or key and value; those of `transform` and `process` the record.
    `key=` and `value=` are the serdes of a function's results, needed if the function does not
    declare their type and a later step writes them.

    Source: `org.apache.kafka.streams.kstream.KStream`.
    """

    def named(self, name: str) -> Stream[K, V]:
        """Return the same stream; names of downstream state begin with this name."""
        facts = replace(self._facts, label=name, call=self._call("named"))
        stream = Stream(self._plan, facts, self._take())
        self._plan.unused[stream] = facts.call
        return stream

    def drop_nulls(self: Stream[K, V2 | None]) -> Stream[K, V2]:
        """Keep the records with a value."""
        made: Any = filter_(_has_value)
        return self._kept("drop-nulls", None, made, self._call("drop_nulls"), nulls=False)

    def process(
        self,
        supplier: Callable[[], BaseProcessor[K, V, K2, V2]],
        *,
        stores: _Stores = (),
        reads: _Stores = (),
        key: Serde[K2] | None = None,
        value: Serde[V2] | None = None,
    ) -> Stream[K2, V2]:
        """Process the records with a processor: a class, or an operator such as `call_async(ask)`.

        A processor with stores, or with tables to read, gets equal keys in one task.

        Args:
            supplier: Returns a new processor at each call.
            stores: Definitions of further stores; see `TopologyBuilder.add_processor`.
            reads: Stores of tables that the processor reads.
            key: The serde of the forwarded keys.
            value: The serde of the forwarded values.

        Raises:
            TopologyError: The supplier returns no processor.

        Source: `KStream#process`, `KStream#processValues`.
        """
        call = self._call("process", supplier)
        return self._run(call, supplier, None, stores, reads, key, value)

    def process_with(
        self,
        other: Stream[K, V3],
        supplier: Callable[[], JoinProcessor[K, V, V3, K2, V2]],
        *,
        stores: _Stores = (),
        reads: _Stores = (),
        key: Serde[K2] | None = None,
        value: Serde[V2] | None = None,
    ) -> Stream[K2, V2]:
        """Process the records of two streams by key, with a `JoinProcessor`; as `process`."""
        call = self._call("process_with", supplier)
        return self._run(call, supplier, other, stores, reads, key, value)

    def deduplicate(
        self,
        by: Callable[[K, V], ID | None] | KeyId | HeaderId,
        *,
        within: timedelta,
        key: Serde[ID] | None = None,
        store: str | None = None,
        late: LatePolicy = "forward",
    ) -> Stream[K, V]:
        """Drop a record if one with the same id and a nearby time was forwarded.

        Args:
            by: Returns the id of a key and value, or None; or `by_key()` or `by_header(name)`.
            within: Maximum time between duplicates.
            key: The serde of the ids.
            store: The name of the store of ids.
            late: The policy for late records; see `kstreams.operators.deduplicate`.

        Source: KIP-655 (`KStream#distinct`).
        """
        function = by if callable(by) else None
        call, of = self._call("deduplicate", function), "key" if function is None else name_of(by)
        own = self._plan.owned(store or dashed(self._facts.label, "distinct", of), call)
        known: KnownSerde = BYTES if isinstance(by, HeaderId) else self._facts.key
        if function is not None:
            known = self._result(function, key, call).serde
        finds: Any = by if function is None else partial(_of_record, function)
        serde: Any = key or needed(known, "key", call)
        made: Any = deduplicate(finds, id=serde, within=within, store=own, late=late)
        stream = self._by_key(call)
        return stream._then(own, made, replace(stream._facts, call=call))

    def group_by_key(self) -> GroupedStream[K, V]:
        """Group the records by their key, for an aggregation; see `KStream#groupByKey`."""
        from kstreams.streams.grouped import GroupedStream  # noqa: PLC0415

        return GroupedStream(self)

    def group_by(
        self, function: Callable[[K, V], K2 | None], *, key: Serde[K2] | None = None
    ) -> GroupedStream[K2, V]:
        """Group the records by another key; None belongs to no group; see `KStream#groupBy`."""
        made = cast("Callable[[K, V], K2]", function)
        return self._rekeyed("group_by", made, key).group_by_key()

    def repartition(
        self, *, partitions: int | None = None, partitioner: Partitioner | None = None
    ) -> Stream[K, V]:
        """Move the records to the tasks of their keys here, once for all downstream steps.

        Other steps repartition by themselves where it is necessary, each stream separately.

        Args:
            partitions: The partition count; see `TopologyBuilder.repartition`.
            partitioner: Chooses the partition of a key; None for the default.

        Source: `KStream#repartition`.
        """
        call = self._call("repartition")
        return self._edge(call, self._facts.key, partitioner, partitions, owner=call)

    @overload
    def to_table(
        self: Stream[K, V2 | None], *, ttl: timedelta | None = ..., store: _Rows[K, V2] = ...
    ) -> Table[K, V2]: ...
    @overload
    def to_table(self, *, ttl: timedelta | None = ..., store: _Rows[K, V] = ...) -> Table[K, V]: ...
    def to_table(self, *, ttl: timedelta | None = None, store: Any = None) -> Table[K, Any]:
        """Return a table of the last value of each key; None deletes a row; `KStream#toTable`.

        Args:
            ttl: Time to live of a row; see `TopologyBuilder.add_table`.
            store: The definition of the store, or its name.
        """
        from kstreams.streams.table import Table  # noqa: PLC0415

        plan, call, label = self._plan, self._call("to_table"), dashed(self._facts.label, "table")
        stream = self._by_key(call)
        serdes = {"key": stream._facts.key, "value": stream._facts.value}
        spec = self._store(store, label, call, timestamped_store, **serdes)
        parent, name = stream._take(), spec.name
        facts = replace(stream._facts, label=name, call=call, nulls=False, null_keys=False)
        return Table(
            plan,
            facts,
            plan.later(lambda: plan.builder.to_table(name, parent(), store=spec, ttl=ttl)),
        )

    def to(
        self,
        target: _Target[K, V],
        *,
        on_refused: OnError | None = None,
        result_ids: bool | None = None,
    ) -> None:
        """Write the records to a topic, another destination or a loop; see `KStream#to`.

        Args:
            target: A `Topic`, `topic_by(...)`, a `Sink` such as a table of a database,
                `to_batches(...)`, `to_function(...)`, `to_stdout()` or a `Loop`.
            on_refused: The policy for a rejected result; see `TopologyBuilder.add_sink`.
            result_ids: Whether results on Kafka have ids.
        """
        plan, parent = self._plan, self._take()
        if isinstance(target, Loop):
            target._close(parent)
            return
        if isinstance(target, (Topic, TopicChoice)):
            plan.serdes.learn(target.key, target.value)
        label = getattr(target, "name", None) or kebab(getattr(target, "label", ""))
        name = plan.free(dashed("to", str(label or "sink")))
        options = {"on_refused": on_refused, "result_ids": result_ids}
        given = {option: each for option, each in options.items() if each is not None}
        add: Any = lambda: cast("Any", plan.builder).add_sink(str(name), target, parent(), **given)  # noqa: E731
        plan.later(add)

    def node(self) -> Node[K, V]:
        """Return the stream's node of `Streams.builder`; adds the steps above it to the builder."""
        return self._take()()

    def _run(
        self,
        call: str,
        supplier: Callable[[], Any],
        other: StreamBase[K, Any] | None,
        stores: _Stores,
        reads: _Stores,
        key: Serde[Any] | None,
        value: Serde[Any] | None,
    ) -> Stream[Any, Any]:
        plan = self._plan
        probe: Any = supplier()
        base: type = BatchProcessor if isinstance(probe, BatchProcessor) else Processor
        base = base if other is None else JoinProcessor
        if not isinstance(probe, base):
            raise TopologyError(
                f"{call} got a supplier of {type(probe).__name__}, expected a {base.__name__}",
                hint="pass the class itself or a function that returns a new processor.",
            )
        key_type, value_type = type_arguments(type(probe), base)[-2:]
        label = dashed(self._facts.label, name_of(supplier).removesuffix("-supplier"))
        tables = [spec for spec in reads if spec not in plan.global_stores]
        is_keyed = bool(stores_of(label, supplier, stores)) or bool(tables)
        name = plan.owned(label, call) if is_keyed else plan.free(label)
        stream = self._by_key(call) if is_keyed or other is not None else self
        right = None if other is None else other._by_key(call, stream._facts)._take()
        facts = stream._facts
        if not getattr(probe, "keeps_key", False):
            made = key or plan.serdes.of(key_type, call)
            facts = replace(facts, label=label, key=made, moved=True, partitioner=None)
        facts = replace(
            facts,
            call=call,
            value=value or plan.serdes.of(value_type, call),
            nulls=may_be_none(value_type),
        )
        parent = stream._take()

        def make() -> Node[Any, Any]:
            builder: Any = plan.builder
            add = builder.add_processor if right is None else builder.add_join
            parents = (parent(),) if right is None else (parent(), right())
            node: Node[Any, Any] = add(str(name), supplier, *parents, stores=stores, reads=reads)
            return node

        return self._stream(facts, make, must=False)


class Loop(Stream[K, V]):
    """The records that the topology sends to its own next batch; created by `Streams.loop`.

    `stream.to(loop)` writes to the loop. Source: goka's `Loop`.
    """

    def __init__(self, plan: Plan, facts: Facts, node: Callable[[], nodes.Loop[K, V]]) -> None:
        super().__init__(plan, facts, node)
        self._loop = node
        self._writers: list[Callable[[], Node[K, V]]] = []

    def _close(self, parent: Callable[[], Node[K, V]]) -> None:
        if not self._writers:
            self._plan.later(
                lambda: self._plan.builder.close_loop(
                    self._loop(), *(writer() for writer in self._writers)
                )
            )
        self._writers.append(parent)


_Target = (
    Topic[K, V]
    | TopicChoice[K, V]
    | Sink[K, V]
    | nodes.FunctionSink[K, V]
    | nodes.StdoutSink
    | Loop[K, V]
)
"""The destination of a stream's records."""


def _has_value(_: object, value: object) -> bool:
    return value is not None


def _of_record(function: Callable[[Any, Any], Any], record: Record[Any, Any]) -> Any:  # noqa: ANN401  # an id
    return function(record.key, record.value)
