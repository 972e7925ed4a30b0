"""The typed builder: every call hands out a handle that carries key and value types."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Literal, TypeVar, get_args, overload

from kstreams.errors import TopologyError
from kstreams.graph.cogroup_builder import CogroupBuilder
from kstreams.graph.foreign_builder import ForeignBuilder
from kstreams.graph.global_builder import GlobalBuilder, global_problems, with_global_reads
from kstreams.graph.loop_builder import LoopBuilder
from kstreams.graph.meetings import framed_key_warnings
from kstreams.graph.nodes import (
    FunctionSink,
    Node,
    NodeHandle,
    RepartitionNode,
    SinkNode,
    SinkTarget,
    SourceNode,
    Start,
    StdoutSink,
)
from kstreams.graph.stream_join_builder import StreamJoinBuilder
from kstreams.graph.topology import Topology
from kstreams.graph.validate import validated
from kstreams.log import Log
from kstreams.names import MAX_NAME_BYTES, shown_name
from kstreams.partitioner import Partitioner, count_problem
from kstreams.processors.branch import Branch, PassThrough
from kstreams.processors.event_time import (
    DEFAULT_MAX_AHEAD,
    EventTime,
    InvalidTime,
    TimeExtractor,
    WallClock,
)
from kstreams.processors.on_error import OnError
from kstreams.processors.validate import Invalid, Validate
from kstreams.serde.base import Serde
from kstreams.serde.framed import plain_of
from kstreams.sink import Sink
from kstreams.times import positive_ms, span_ms
from kstreams.topic import Nulls, Topic, TopicChoice, default_partitioner

__all__ = ("TopologyBuilder",)

K = TypeVar("K")
"""Type of keys."""
V = TypeVar("V")
"""Type of values."""
K2 = TypeVar("K2")
"""Type of the keys that a processor forwards."""
V2 = TypeVar("V2")
"""Type of the values that a processor forwards."""


class TopologyBuilder(
    StreamJoinBuilder, CogroupBuilder, ForeignBuilder, LoopBuilder, GlobalBuilder
):
    """Collects nodes and checks them all at `build()`.

    Args:
        name: The topology's name; the default of the app's id.
        on_error: What becomes of a record that does not decode or whose processing
            fails, for sources and repartition edges that do not say it themselves.
        idle_timeout: Once a task has had no records for so long by the wall clock, its
            stream time goes on as the wall clock does, so that its last windows close
            and stream-time punctuators fire; time in which the app does not run is left
            out. Costs a batch each time-out while it is quiet. A record that comes
            after a silence may be late then. None: stream time moves by records alone.
        settle: How far behind the wall clock batches end: records that are younger are left
            for a later batch, in all source topics alike. So a producer may lag this far
            behind the others, and its records are still merged with theirs by time; all
            results come as much later. A run to the end (`until="end"`, `drain`) reads what
            there is, settled or not, and so does the test driver. Zero, the default: a batch
            reads all that has come.

    Raises:
        TopologyError: The name has other characters than it may.
        ValueError: `idle_timeout` is not positive, or `settle` is negative.

    Source: `org.apache.kafka.streams.Topology`, with types carried by the handles.
    """

    def __init__(
        self,
        name: str,
        *,
        on_error: OnError = "fail",
        idle_timeout: timedelta | None = None,
        settle: timedelta = timedelta(0),
    ) -> None:
        plain = name.replace("-", "").replace("_", "").replace(".", "").isalnum()
        if not plain or len(name.encode()) > MAX_NAME_BYTES:
            raise TopologyError(
                "a topology's name consists of letters, digits, '.', '_' and '-', "
                f"{MAX_NAME_BYTES} bytes at most, not {shown_name(name)}",
                hint="it names checkpoints and folders.",
            )
        super().__init__(name, on_error)
        self._idle_ms = None if idle_timeout is None else positive_ms("idle_timeout", idle_timeout)
        self._settle_ms = span_ms("settle", settle)

    def add_source(
        self,
        name: str,
        topic: Topic[K, V] | Log[K, V],
        *,
        start: Start = "earliest",
        on_error: OnError | None = None,
        event_time: TimeExtractor[K, V] | WallClock | None = None,
        invalid_time: InvalidTime = "fail",
        max_ahead: timedelta | None = DEFAULT_MAX_AHEAD,
    ) -> Node[K, V]:
        """Read a topic, or a `Log`: files and other places that can be read again.

        Args:
            name: Name of the node.
            topic: What to read; a topic's `nulls="pass"` types the handle `Node[K, V | None]`.
            start: Where to begin without a checkpoint: `earliest`, `latest`, or an aware
                `datetime` (the first record not before it).
            on_error: What becomes of records that do not decode or fail; the builder's
                policy by default.
            event_time: Returns the time of a record: an aware `datetime` or ms since the
                epoch. Everything below the source has it as the record's timestamp, and
                topics of a group are merged by it. Runs on the executor, and decodes the
                record for that; again for a record that has to wait until others are read.
                `wall_clock()` takes the time of processing.
                None: the record's timestamp.
            invalid_time: What becomes of a record for which `event_time` returns None or
                a negative time, and of one whose time is too far ahead: `fail` leaves it
                to `on_error`, `skip` drops it and counts it as `no-event-time` or
                `too-far-ahead`, `partition-time` gives it the highest time that its
                partition has had (and fails before there is one).
            max_ahead: How far a record's time may lie ahead of the recorded wall clock of
                its batch; an earlier time is always accepted. One record from a clock
                that is years ahead would move stream time there, and all that come after
                it would be late. None: up to the end of the year 9999, which is the last
                of all times. The default of a day holds only while the wall clock shows
                2001 or later: that of a test driver begins at 1970.

        Raises:
            TopologyError: `invalid_time` is none of these.
            ValueError: `max_ahead` is negative.

        Source: `org.apache.kafka.streams.processor.TimestampExtractor`.
        """
        if invalid_time not in get_args(InvalidTime):
            raise TopologyError(
                f"source {name!r}: invalid_time is {invalid_time!r}",
                hint=f"one of {', '.join(map(repr, get_args(InvalidTime)))}.",
            )
        policy = self._on_error if on_error is None else on_error
        times = EventTime(
            event_time,
            invalid_time,
            None if max_ahead is None else span_ms("max_ahead", max_ahead),
            unset_clocks=max_ahead is not DEFAULT_MAX_AHEAD,
        )
        if isinstance(topic, Topic):
            return self._add(SourceNode(name, topic, start, policy, times))
        read = Topic(topic.name, topic.key, topic.value)
        return self._add(SourceNode(name, read, start, policy, times, log=topic))

    @overload
    def repartition(
        self,
        name: str,
        *parents: Node[K, V],
        key: Serde[K],
        value: Serde[V],
        partitions: int | None = ...,
        partitioner: Partitioner | None = ...,
    ) -> Node[K, V]: ...
    @overload
    def repartition(
        self,
        name: str,
        *parents: Node[K, V | None],
        key: Serde[K],
        value: Serde[V],
        nulls: Literal["pass"],
        partitions: int | None = ...,
        partitioner: Partitioner | None = ...,
    ) -> Node[K, V | None]: ...
    def repartition(
        self,
        name: str,
        *parents: Node[Any, Any],
        key: Serde[Any],
        value: Serde[Any],
        nulls: Nulls = "drop",
        partitions: int | None = None,
        partitioner: Partitioner | None = None,
    ) -> Node[Any, Any]:
        """Move records to the tasks that own their keys, inside one micro-batch.

        Put it below a node that changes the key and above the next one with a store.

        Args:
            name: Name of the edge.
            parents: Where the records come from.
            key: Serde of the keys; its bytes decide the partition.
            value: Serde of the values.
            nulls: `"pass"` types the edge for values that may be None, as deletions are.
            partitions: How many tasks the group below has. None: as many as its source
                topics have, else as many as the group above.
            partitioner: Which partition a key belongs to; None as for a `Topic`.

        Raises:
            TopologyError: `partitions` is below 1, or above `MAX_PARTITIONS`.
        """
        problem = None if partitions is None else count_problem(partitions)
        if problem:
            raise TopologyError(f"repartition {name!r}: {problem}")
        rule = partitioner or default_partitioner(key)
        node = RepartitionNode(
            name,
            self._names(name, parents),
            plain_of(key),
            plain_of(value),
            partitions,
            rule,
            self._on_error,
            nulls,
        )
        return self._add(node)

    @overload
    def add_sink(
        self,
        name: str,
        target: Topic[K, V] | TopicChoice[K, V],
        *parents: Node[K, V],
        on_refused: OnError = ...,
        result_ids: bool = ...,
    ) -> None: ...
    @overload
    def add_sink(
        self,
        name: str,
        target: Sink[K, V],
        *parents: Node[K, V],
        on_refused: OnError = ...,
    ) -> None: ...
    @overload
    def add_sink(self, name: str, target: FunctionSink[K, V], *parents: Node[K, V]) -> None: ...
    @overload
    def add_sink(self, name: str, target: StdoutSink, *parents: NodeHandle) -> None: ...
    def add_sink(
        self,
        name: str,
        target: SinkTarget,
        *parents: NodeHandle,
        on_refused: OnError = "fail",
        result_ids: bool = False,
    ) -> None:
        """Write records to a topic, or to another place.

        Args:
            name: Name of the node.
            target: A `Topic`, `topic_by(...)`, a `Sink` such as a table of a database,
                `to_batches(...)`, `to_function(...)` or `to_stdout()`.
            parents: Where the records come from.
            on_refused: What becomes of a result that its topic does not take: by its time, its
                size, for want of a key. `fail`, the default, makes it the failure of the
                record that it comes of, whose source's `on_error` decides, while that can be
                undone; and the batch's where it cannot. `skip` leaves the result out and
                counts it, `DeadLetter(topic)` sets it aside. The same for what a `Sink` does not
                take, such as a row that violates a constraint: there `fail` fails the batch.
            result_ids: Whether each result on Kafka has the header `kstreams-id`, which is the same
                on each copy of it, so that a consumer that remembers ids sees it once. It costs
                as much as all else of writing a record. Embedded topics hold each result once.
        """
        names = self._names(name, parents)
        if not isinstance(target, (Topic, TopicChoice, StdoutSink, FunctionSink, Sink)):
            raise TopologyError(
                f"sink {name!r} cannot write to {shown_name(repr(target))}",
                hint="give it a Topic, topic_by(...), a kstreams.sinks.Sink, to_batches(...), "
                "to_function(...) or to_stdout().",
            )
        self._add(SinkNode(name, target, names, on_refused, result_ids))

    def branch(
        self,
        name: str,
        parent: Node[K, V],
        branches: Mapping[str, Callable[[K, V], bool]],
        *,
        default: str | None = None,
    ) -> dict[str, Node[K, V]]:
        """Send each record down the first branch whose predicate holds.

        Args:
            name: Name of the deciding node; branch nodes are `<name>.<branch>`.
            parent: Where the records come from.
            branches: Predicates by branch, asked in order.
            default: Branch of records that none takes; None counts them as dropped with
                the reason `no-branch`.

        Returns:
            A handle for each branch, the default's included.
        """
        labels = [*branches, *([default] if default is not None else [])]
        supplier = Branch.supplier(name, branches, default)
        root: Node[K, V] = self.add_processor(name, supplier, parent)
        return {label: self._through(f"{name}.{label}", root) for label in labels}

    def merge(self, name: str, *parents: Node[K, V]) -> Node[K, V]:
        """Make one node out of several; the order between parents is theirs in the task."""
        return self._through(name, *parents)

    def mirror(self, name: str, parent: Node[K, V], to: Topic[K, V]) -> Node[K, V]:
        """Copy a stream to a topic and go on with it; headers and timestamps stay."""
        self.add_sink(name, to, parent)
        return parent

    def validate(
        self, name: str, parent: Node[K, V], check: Callable[[K, V], str | None]
    ) -> tuple[Node[K, V], Node[K, Invalid[V]]]:
        """Divide records into valid ones, and others with the reason.

        Args:
            name: Name of the node; its two outputs are `<name>.valid`, `<name>.invalid`.
            parent: Where the records come from.
            check: Returns None for a good record, else the reason. A `ValueError` it
                raises is a reason too.
        """
        root: Node[K, Any] = self.add_processor(name, Validate.supplier(name, check), parent)
        valid: Node[K, V] = self._through(f"{name}.valid", root)
        invalid: Node[K, Invalid[V]] = self._through(f"{name}.invalid", root)
        return valid, invalid

    def build(self) -> Topology:
        """Check everything at once and return the immutable topology.

        Warns where keys meet that have frames, which a partitioner hashes with the key.

        Raises:
            TopologyError: With all problems found, sorted.
        """
        tables = self._globals
        problems = (*self._problems, *global_problems(self._nodes, tables))
        nodes = with_global_reads(self._nodes, tables)
        topology = validated(
            self.name,
            nodes,
            problems,
            self._idle_ms,
            self._settle_ms,
            global_tables=tuple(tables.values()),
        )
        for text in framed_key_warnings(
            node for group in topology.groups for node in (*group.entries, *group.nodes)
        ):
            warnings.warn(text, UserWarning, stacklevel=2)
        return topology

    def _through(self, name: str, *parents: Node[K, V]) -> Node[K, V]:
        return self.add_processor(name, PassThrough[K, V], *parents)
