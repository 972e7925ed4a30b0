"""`Streams`: creates streams and tables from topics, and builds the topology."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Any

from kstreams._types import K, V
from kstreams.graph.building.builder import TopologyBuilder
from kstreams.graph.nodes import Node, Start
from kstreams.graph.topology import Topology
from kstreams.log import Log
from kstreams.options import checks_options
from kstreams.partitioner import Partitioner
from kstreams.processors.event_time import (
    DEFAULT_MAX_AHEAD,
    InvalidTime,
    TimeExtractor,
    WallClock,
)
from kstreams.processors.on_error import OnError
from kstreams.serde.base import Serde
from kstreams.streams.checks import check_topic, checks_first
from kstreams.streams.facts import new_facts
from kstreams.streams.plan import Plan, call_of
from kstreams.streams.serdes import SerdeMaker, Serdes, TypedSerde, Unknown
from kstreams.streams.stream import Loop, Stream
from kstreams.streams.table_sources import TableSources
from kstreams.topic import Topic

__all__ = ("Streams",)


class Streams(TableSources):
    """Defines a topology with streams and tables; `build()` checks it.

    Args:
        name: The name of the topology, and the default app id.
        serdes: Serdes of data between topics, each for the type that it converts, such as
            `[json_serde(Order)]`. Text, bytes, numbers, bools and tuples of them have serdes, and
            so have the types of topics.
        make_serde: Makes the serde of any other type that a function returns, such as `json_serde`.
        on_error: The policy for failed records: `fail`, `skip` or `DeadLetter(topic)`.
        idle_timeout: See `TopologyBuilder`.
        settle: See `TopologyBuilder`.

    Raises:
        TopologyError: The name is invalid, or one of the serdes has no type.

    Source: `org.apache.kafka.streams.StreamsBuilder`.
    """

    def __init__(
        self,
        name: str,
        *,
        serdes: Iterable[TypedSerde] = (),
        make_serde: SerdeMaker | None = None,
        on_error: OnError = "fail",
        idle_timeout: timedelta | None = None,
        settle: timedelta = timedelta(0),
    ) -> None:
        options: Any = {"on_error": on_error, "idle_timeout": idle_timeout, "settle": settle}
        make = partial(TopologyBuilder, name, **options)
        self._plan = Plan(make(), Serdes(serdes, make_serde), make)
        self._sources: dict[str, tuple[object, Stream[Any, Any]]] = {}

    @property
    def builder(self) -> TopologyBuilder:
        """The builder of the topology, for nodes that streams cannot express.

        `Stream.node()` and `Table.node()` are the builder's handles, and `from_node` continues with
        a handle as a stream.
        """
        return self._plan.builder

    @checks_first(check_topic)
    @checks_options
    def stream(
        self,
        topic: Topic[K, V] | Log[K, V],
        *,
        start: Start = "earliest",
        on_error: OnError | None = None,
        event_time: TimeExtractor[K, V] | WallClock | None = None,
        invalid_time: InvalidTime = "fail",
        max_ahead: timedelta | None = DEFAULT_MAX_AHEAD,
    ) -> Stream[K, V]:
        """Read a topic or a log; see `TopologyBuilder.add_source` and `StreamsBuilder#stream`.

        A second call with equal arguments returns the same stream.
        """
        options: dict[str, Any] = {"start": start, "on_error": on_error, "max_ahead": max_ahead}
        options |= {"event_time": event_time, "invalid_time": invalid_time}
        known = self._sources.get(topic.name)
        if known is not None and known[0] == (topic, options):
            return known[1]
        facts, plan = self._source("stream", topic), self._plan

        def add() -> Node[K, V]:
            return plan.builder.add_source(facts.label, topic, **options)

        made: Stream[K, V] = Stream(plan, facts, plan.later(add))
        plan.unused[made] = facts.call
        self._sources[topic.name] = (topic, options), made
        return made

    def loop(
        self,
        name: str,
        *,
        key: Serde[K],
        value: Serde[V],
        max_hops: int = 100,
        partitioner: Partitioner | None = None,
    ) -> Loop[K, V]:
        """Return a stream of the records that the topology sends to its own next batch.

        `stream.to(loop)` writes to it; see `TopologyBuilder.add_loop`.
        """
        call, plan = call_of("loop", repr(name)), self._plan
        options: dict[str, Any] = {"max_hops": max_hops, "partitioner": partitioner}
        own = plan.owned(name, call)
        made = plan.later(lambda: plan.builder.add_loop(own, key=key, value=value, **options))
        return Loop(
            plan, new_facts(own, call, key.plain, value.plain, partitioner=partitioner), made
        )

    def from_node(
        self, node: Node[K, V], *, key: Serde[K] | None = None, value: Serde[V] | None = None
    ) -> Stream[K, V]:
        """Return a stream of the records of a node of `builder`; its key may have changed.

        Args:
            node: The node.
            key: The serde of the keys, if a later step writes them.
            value: The serde of the values, if a later step writes them.
        """
        call = call_of("from_node", repr(node.name))
        unknown = Unknown(f"the call does not give it: {call}")
        facts = new_facts(node.name, call, key or unknown, value or unknown, moved=True)
        return Stream(self._plan, facts, lambda: node)

    def build(self) -> Topology:
        """Check the topology, and return it as an immutable object.

        Raises:
            TopologyError: The topology has problems; the error lists all of them, sorted: names
                that two calls have, streams that nothing uses, and those of
                `TopologyBuilder.build`.
        """
        return self._plan.build()

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Return the topology so far, as text and as a diagram, by MIME type, for notebooks."""
        return self._plan.picture()
