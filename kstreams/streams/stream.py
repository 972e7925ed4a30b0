"""`Stream`: records of a topic, or the results of steps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast, overload

from kstreams._types import K2, V2, K, V
from kstreams.graph import nodes
from kstreams.graph.nodes import Node
from kstreams.key_part import edge_partitioner
from kstreams.options import checks_options
from kstreams.partitioner import Partitioner
from kstreams.processors.filter import filter_
from kstreams.processors.on_error import OnError
from kstreams.serde.base import Serde
from kstreams.sink import Sink
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.stored_names import dashed, kebab
from kstreams.streams.checks import check_function, check_no_name, check_written, checks_first
from kstreams.streams.facts import Facts
from kstreams.streams.plan import Plan
from kstreams.streams.processor_steps import ProcessorSteps
from kstreams.streams.serdes import needed
from kstreams.topic import Topic, TopicChoice

if TYPE_CHECKING:
    from kstreams.streams.grouped import GroupedStream
    from kstreams.streams.table import Table

__all__ = ("Loop", "Stream")

_Rows = StoreSpec[TimestampedStore[K, V]] | str | None


class Stream(ProcessorSteps[K, V]):
    """Records of a topic, or the results of steps; each call returns another object.

    Functions receive the value, or key and value; those of `transform` and `process` the record.
    `key=` and `value=` are the serdes of a function's results, needed if the function does not
    declare their type and a later step writes them.

    Source: `org.apache.kafka.streams.kstream.KStream`.
    """

    def named(self, name: str) -> Stream[K, V]:
        """Return the same stream; names of downstream state begin with this name."""
        facts = self._facts.after(self._call("named"), label=name)
        stream = Stream(self._plan, facts, self._take())
        self._plan.unused[stream] = facts.call
        return stream

    def drop_nulls(self: Stream[K, V2 | None]) -> Stream[K, V2]:
        """Drop the records whose value is None."""
        made: Any = filter_(_has_value)
        return self._kept("drop-nulls", None, made, self._call("drop_nulls"), nulls=False)

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
        self,
        *,
        partitions: int | None = None,
        partitioner: Partitioner | None = None,
        partition_by: Callable[[K], object] | None = None,
    ) -> Stream[K, V]:
        """Repartition the stream by its keys at this step, once for all downstream steps.

        Other steps repartition by themselves where it is necessary, each stream separately.

        Args:
            partitions: The partition count; see `TopologyBuilder.repartition`.
            partitioner: Chooses the partition of a key; None for the default.
            partition_by: Returns the part of the key that determines the partition; see
                `TopologyBuilder.repartition`. Joins and aggregations downstream do not repartition
                again; a stream that is joined with this one is repartitioned by the same part.

        Source: `KStream#repartition`, KIP-759.
        """
        call = self._call("repartition", partition_by)
        key = self._facts.key
        if partition_by is not None:
            check_function(partition_by, ("key",), call)
            key = needed(key, "key", call)
            partitioner = edge_partitioner(partitioner, partition_by, key, call)
        return self._edge(call, key, partitioner, partitions, owner=call)

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
        facts = stream._facts.after(call, label=name, nulls=False, null_keys=False)
        return Table(
            plan,
            facts,
            plan.later(lambda: plan.builder.to_table(name, parent(), store=spec, ttl=ttl)),
        )

    @checks_first(check_no_name)
    @checks_options
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
            check_written(self._facts, f"loop {target._facts.label!r}", target._facts)
            target._close(parent)
            return
        if isinstance(target, (Topic, TopicChoice)):
            plan.serdes.learn(target.key, target.value)
            shown = f"topic {target.name!r}" if isinstance(target, Topic) else "its topics"
            check_written(self._facts, shown, target)
        label = getattr(target, "name", None) or kebab(getattr(target, "label", ""))
        name = plan.free(dashed("to", str(label or "sink")))
        options = {"on_refused": on_refused, "result_ids": result_ids}
        given = {option: each for option, each in options.items() if each is not None}
        add: Any = lambda: cast("Any", plan.builder).add_sink(str(name), target, parent(), **given)  # noqa: E731
        plan.later(add)

    def node(self) -> Node[K, V]:
        """Return the stream's node in `Streams.builder`, after adding the steps above it."""
        return self._take()()


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
