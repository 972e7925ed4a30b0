"""The typed topology builder: each method returns a handle that carries key and value types."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, overload

from kstreams._types import K, V
from kstreams.errors import TopologyError
from kstreams.graph.building.cogroup_builder import CogroupBuilder
from kstreams.graph.building.foreign_builder import ForeignBuilder
from kstreams.graph.building.global_builder import GlobalBuilder, global_problems, with_global_reads
from kstreams.graph.building.loop_builder import LoopBuilder
from kstreams.graph.building.repartition_builder import RepartitionBuilder
from kstreams.graph.building.stream_join_builder import StreamJoinBuilder
from kstreams.graph.checks.validate import build_warnings, validated
from kstreams.graph.nodes import (
    FunctionSink,
    Node,
    NodeHandle,
    SinkNode,
    SinkTarget,
    SourceNode,
    Start,
    StdoutSink,
)
from kstreams.graph.topology import Topology
from kstreams.log import Log
from kstreams.names import MAX_NAME_BYTES, shown_name
from kstreams.options import checks_options
from kstreams.processors.branch import Branch, Through
from kstreams.processors.event_time import (
    DEFAULT_MAX_AHEAD,
    EventTime,
    InvalidTime,
    TimeExtractor,
    WallClock,
)
from kstreams.processors.on_error import OnError
from kstreams.processors.validate import Invalid, Validate
from kstreams.sink import Sink
from kstreams.times import positive_ms, span_ms
from kstreams.topic import Topic, TopicChoice

__all__ = ("TopologyBuilder",)


class TopologyBuilder(
    StreamJoinBuilder,
    CogroupBuilder,
    ForeignBuilder,
    LoopBuilder,
    GlobalBuilder,
    RepartitionBuilder,
):
    """Defines the nodes of a topology; `build()` checks them.

    Args:
        name: Name of the topology, and the default app id.
        on_error: The policy for records that cannot be decoded or processed, for sources and
            repartition edges without a policy.
        idle_timeout: After this time without records, by the wall clock, the stream time of a task
            advances with the wall clock, so that its last windows close and stream-time punctuators
            fire. Time in which the app does not run does not count. Each timeout without records
            causes a batch. A record that arrives after such a timeout may be late. None: only
            records advance stream time.
        settle: Minimum age of the records that a batch reads, by the wall clock, in all source
            topics; younger records are left for a later batch. So the records of a producer that
            lags by up to this time are still merged with other records by time; all results are
            delayed by this time. A run to the end (`until="end"`, `drain`) and the test driver read
            all records. Zero, the default: a batch reads all available records.

    Raises:
        TopologyError: The name has a character that is not allowed.
        ValueError: `idle_timeout` is not positive, or `settle` is negative.

    Source: `org.apache.kafka.streams.Topology`, with types carried by the handles.
    """

    @checks_options
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

    @checks_options
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
        """Add a source, which reads a topic or a `Log` (files and other replayable sources).

        Args:
            name: The name of the node.
            topic: The topic or log; if the topic has `nulls="pass"`, the handle's type is `Node[K,
                V | None]`.
            start: The start if there is no checkpoint: `earliest`, `latest`, or a `datetime` with a
                time zone (the first record at or after this time).
            on_error: The policy for records that cannot be decoded or processed; the builder's
                policy by default.
            event_time: Returns the time of a record: a `datetime` with a time zone, or ms since the
                epoch. All downstream nodes use this time as the record's timestamp, and topics of a
                group are merged by this time. The function runs on the executor with the decoded
                record, and may run again for a record that waits for other records. `wall_clock()`
                uses the processing time. None: the record's timestamp.
            invalid_time: The policy for a record for which `event_time` returns None or a negative
                time, and for a time that is too far ahead: `fail` applies `on_error`, `skip` drops
                the record and counts it as `no-event-time` or `too-far-ahead`, `partition-time`
                uses the highest time of its partition so far (and fails before there is one).
            max_ahead: The maximum time by which a record's time may be later than the recorded wall
                time of its batch; an earlier time is always accepted. A record from a clock that is
                years ahead would advance stream time, and all later records would be late. None: up
                to the end of the year 9999. The default, one day, applies only while the wall clock
                shows 2001 or later, because a test driver's clock starts at 1970.

        Raises:
            OptionError: An option has a value that is not listed here.
            ValueError: `max_ahead` is negative.

        Source: `org.apache.kafka.streams.processor.TimestampExtractor`.
        """
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
    @checks_options
    def add_sink(
        self,
        name: str,
        target: SinkTarget,
        *parents: NodeHandle,
        on_refused: OnError = "fail",
        result_ids: bool = False,
    ) -> None:
        """Add a sink, which writes records to a topic or another destination.

        Args:
            name: The name of the node.
            target: A `Topic`, `topic_by(...)`, a `Sink` such as a table of a database,
                `to_batches(...)`, `to_function(...)` or `to_stdout()`.
            parents: The nodes that forward the records.
            on_refused: The policy for a result that its topic rejects because of its time, its size
                or a missing key. With `fail`, the default, the input record fails, to which the
                source's `on_error` applies, if the record can still be rolled back; otherwise the
                batch fails. `skip` omits the result and counts it, `DeadLetter(topic)` writes a
                dead letter. The policy also applies to a result that a `Sink` rejects, such as a
                row that violates a constraint: there `fail` fails the batch.
            result_ids: Whether each result on Kafka has the header `kstreams-id`, which is equal
                for all duplicates of a result, so that a consumer can remove duplicates. The header
                doubles the cost of writing a record. Embedded topics hold each result once.
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
        """Send each record to the first branch whose predicate is true.

        Args:
            name: Name of the node that evaluates the predicates; branch nodes are
                `<name>.<branch>`.
            parent: The node that forwards the records.
            branches: Predicates by branch name, called in order.
            default: Name of the branch for records that match no predicate; None counts them as
                dropped with the reason `no-branch`.

        Returns:
            A handle for each branch, the default included.
        """
        labels = [*branches, *([default] if default is not None else [])]
        supplier = Branch.supplier(name, branches, default)
        root: Node[K, V] = self.add_processor(name, supplier, parent)
        return {label: self._through(f"{name}.{label}", root) for label in labels}

    def merge(self, name: str, *parents: Node[K, V]) -> Node[K, V]:
        """Return a node that forwards the records of several nodes, in the order of processing."""
        return self._through(name, *parents)

    def mirror(self, name: str, parent: Node[K, V], to: Topic[K, V]) -> Node[K, V]:
        """Write a stream to a topic, with the same headers and timestamps; return the parent."""
        self.add_sink(name, to, parent)
        return parent

    def validate(
        self, name: str, parent: Node[K, V], check: Callable[[K, V], str | None]
    ) -> tuple[Node[K, V], Node[K, Invalid[V]]]:
        """Split records into valid and invalid ones; the value of an invalid record has the reason.

        Args:
            name: Name of the node; its two outputs are `<name>.valid` and `<name>.invalid`.
            parent: The node that forwards the records.
            check: Returns None for a valid record, otherwise the reason. If it raises a
                `ValueError`, the error's text is the reason.
        """
        root: Node[K, Any] = self.add_processor(name, Validate.supplier(name, check), parent)
        valid: Node[K, V] = self._through(f"{name}.valid", root)
        invalid: Node[K, Invalid[V]] = self._through(f"{name}.invalid", root)
        return valid, invalid

    def build(self) -> Topology:
        """Check the topology, and return it as an immutable object.

        Warns about joins and stores by framed keys, because partitioners hash the frame with the
        key, about functions that change their own object, because these changes are lost, and
        about windows of windowed results, because these results may be late.

        Raises:
            TopologyError: The topology has problems; the error lists all of them, sorted.
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
        built = [node for group in topology.groups for node in (*group.entries, *group.nodes)]
        for warning in build_warnings(built):
            warnings.warn(warning, stacklevel=2)
        return topology

    def _through(self, name: str, *parents: Node[K, V]) -> Node[K, V]:
        return self.add_processor(name, Through[K, V](), *parents)
