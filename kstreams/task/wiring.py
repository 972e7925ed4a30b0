"""Creates the processors of a task and connects them, children first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from kstreams.errors import KStreamsError
from kstreams.graph.execution.planner import ExecutionPlanner
from kstreams.graph.execution.shared_ancestors import joins_behind
from kstreams.graph.nodes import (
    AnyNode,
    AnyProcessor,
    FunctionSink,
    JoinNode,
    LoopEndNode,
    LoopNode,
    ProcessorNode,
    RepartitionNode,
    SinkNode,
    SourceNode,
    StdoutSink,
)
from kstreams.graph.topology import PartitionGroup
from kstreams.joins.join_processor import JoinProcessor
from kstreams.processors.closure import HandsOn
from kstreams.processors.columns import (
    STREAM_TIME,
    ColumnInterceptor,
    ColumnJoinProcessor,
    ColumnProcessor,
)
from kstreams.processors.interceptor import Interceptor, checked_call
from kstreams.processors.processor import BatchProcessor, Processor
from kstreams.record import Record
from kstreams.serde.objects import objects_of
from kstreams.task.buffer import BatchBuffer, ColumnBuffer
from kstreams.task.contexts import BatchTaskContext, RecordTaskContext, TaskServices
from kstreams.task.failures.user_errors import Places, located
from kstreams.task.forwarding import to_each
from kstreams.task.node_inputs import inputs_of, join_tables, no_input, sides
from kstreams.task.output.collector import Collector
from kstreams.task.output.hop_collector import Exceeded, HopCollector
from kstreams.task.output.results import ResultCollector
from kstreams.task.output.sink_checks import Outlet
from kstreams.task.output.stdout_lines import StdoutLines
from kstreams.task.progress.record_counts import Flows, hands_on_of
from kstreams.task.records.columns import rows_of, whole
from kstreams.task.records.rows import RecordCall
from kstreams.task.run_observer import Watch
from kstreams.task.two_input_join import Joint, Meeting
from kstreams.times import EARLIEST_MS, LATEST_MS, checked_time
from kstreams.topic import Topic, TopicChoice

__all__ = ("Taker", "Wiring")

Taker = RecordCall | BatchBuffer
"""A receiver of an entry's records: a call, or the buffer of a batch processor."""

_TableCall = Callable[[pa.Table], None]
_Call = TypeVar("_Call", RecordCall, _TableCall)


class Wiring:
    """The connected processors of one task.

    Args:
        group: The nodes.
        services: The shared services of their contexts.
        interceptors: The interceptors of each processor.
        eager: Whether records are encoded immediately.
        outlet: Returns the checks of a sink's results.
        exceeded: Applies the policy to records with too many passes of a loop.
        call_frames: The number of frames that are reserved for processors that call each other.
        folder: The folder for output that exceeds the memory limit.
        watch: Observes the input of sinks, edges and loops; None: no observer.

    Attributes:
        buffers: The buffers of batch processors, in topological order.
        inner_buffers: The buffers of nodes with a parent that is a processor.
        collectors: The collectors by edge node and by sink node with topics.
        results: The collectors by sink node with another destination.
        lines: The lines by `to_stdout` sink node.
        column_processors: The column processors with their nodes, in topological order.
        joints: The `Joint` of each join that one record may reach through both inputs, by node.
        places: The functions of nodes, to locate errors.
        flows: The counters of nodes.

    Raises:
        KStreamsError: A supplier or an `init` raised. The error names the node.
    """

    def __init__(
        self,
        group: PartitionGroup,
        services: TaskServices,
        *,
        interceptors: Sequence[Interceptor],
        eager: bool,
        outlet: Callable[[SinkNode], Outlet],
        exceeded: Exceeded,
        call_frames: int = 0,
        folder: Path | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._watch = watch
        self.collectors: dict[str, Collector] = {}
        self.results: dict[str, ResultCollector] = {}
        self.lines: dict[str, StdoutLines] = {}
        self.places = Places(call_frames)
        self.flows = Flows(group, intercepted=bool(interceptors))
        self._children = group.children()
        self._services = services
        self._interceptors = interceptors
        self._eager = eager
        self._outlet = outlet
        self._exceeded = exceeded
        self._folder = folder
        bare = [each for each in interceptors if not isinstance(each, ColumnInterceptor)]
        self._executions = ExecutionPlanner(group, intercepted=bool(bare))
        self._entries = {entry.name for entry in group.inputs}
        self._record_calls: dict[str, RecordCall] = {}
        self._table_calls: dict[str, _TableCall] = {}
        self._behind = joins_behind(group)
        self.joints: dict[str, Joint] = {}
        self._processors: list[tuple[str, AnyProcessor]] = []
        self._buffers: dict[str, BatchBuffer] = {}
        self.column_processors: list[tuple[str, ColumnProcessor]] = []
        for node in reversed(group.nodes):
            try:
                self._wire(node)
            except KeyboardInterrupt:
                raise
            except BaseException as exc:  # noqa: BLE001  # user code, which may also exit
                hint = "fix the code of the node, and restart."
                error = located(exc, self.places, hint=hint).at(node=node.name)
                raise error from error.__cause__
        self.buffers = tuple(reversed(self._buffers.values()))
        inner = {n.name for n in group.processors if not self._entries.issuperset(n.parents)}
        self.inner_buffers = tuple(each for each in self.buffers if each.node in inner)

    def takers(self, entry: str) -> list[Taker]:
        """Return the receivers of records of a source, edge or loop, in the order of children."""
        inputs = [each for child in self._children[entry] for each in inputs_of(child, entry)]
        return [self._buffers.get(each) or self._record_calls[each] for each in inputs]

    def joints_behind(self, name: str) -> list[Joint]:
        """Return the `Joint` of each join that a node reaches through both inputs."""
        return [self.joints[join] for join in self._behind.get(name, ()) if join in self.joints]

    def clear_counts(self) -> None:
        """Set all counts to zero, for the next batch."""
        self.flows.clear()
        for buffer in self.buffers:
            buffer.count = 0

    def close(self) -> None:
        """Close all processors, parents first.

        Raises:
            KStreamsError: A `close` raised; all other processors were closed nevertheless.
        """
        failure: KStreamsError | None = None
        for name, processor in reversed(self._processors):
            try:
                processor.close()
            except KeyboardInterrupt:
                raise
            except BaseException as exc:  # noqa: BLE001  # user code, which may also exit
                failure = failure or located(exc, self.places).at(node=name)
        if failure is not None:
            raise failure from failure.__cause__

    def _wire(self, node: AnyNode) -> None:
        match node:
            case SourceNode() | LoopNode():
                pass
            case SinkNode():
                self._sink(node)
            case RepartitionNode(counts_hops=False):
                self._collect(
                    node.name, Collector.of_edge(node, eager=self._eager, folder=self._folder)
                )
            case RepartitionNode() | LoopEndNode():
                self._collect(node.name, self._hop_collector(node))
            case ProcessorNode():
                due = bool(self._services.stream.schedules)
                form = self._executions.column_processor(node, punctuated=due)
                processor: AnyProcessor = node.supplier() if form is None else form
                self._processors.append((node.name, processor))
                self.places.add(node.name, processor)
                if form is not None:
                    self._columns(node, form)
                elif isinstance(processor, BatchProcessor):
                    self._batch(node, processor)
                elif isinstance(processor, JoinProcessor):
                    self._join(node, processor)
                else:
                    self._record(node, processor)

    def _sink(self, node: SinkNode) -> None:
        match node.target:
            case StdoutSink():
                lines = self.lines[node.name] = StdoutLines(node.name)
                self.flows.set_input_count(node.name, lambda: sum(lines.mark()))
                self.places.add(node.name, lines.take)
                self._enter(node.name, self._watched(node.name, lines.take))
            case FunctionSink(function=function):
                self.places.add(node.name, function)
                self._enter(node.name, self._watched(node.name, function))
            case Topic() | TopicChoice():
                outlet = self._outlet(node)
                self._collect(
                    node.name,
                    Collector.of_sink(node, outlet, eager=self._eager, folder=self._folder),
                )
            case _:
                results = self.results[node.name] = ResultCollector(node.name)
                self.flows.set_input_count(node.name, results.mark)
                self._take_by(node.name, results)

    def _hop_collector(self, node: RepartitionNode | LoopEndNode) -> HopCollector:
        return HopCollector(
            node,
            self._services.cursor,
            exceeded=self._exceeded,
            eager=self._eager,
            folder=self._folder,
        )

    def _collect(self, name: str, collector: Collector) -> None:
        self.collectors[name] = collector
        self.flows.set_input_count(name, collector.mark)
        self._take_by(name, collector)

    def _take_by(self, name: str, collector: Collector | ResultCollector) -> None:
        self.places.add(name, collector)
        self._record_calls[name] = self._watched(name, collector.take, collector.mark)
        self._table_calls[name] = collector.take_table

    def _watched(
        self, name: str, take: RecordCall, mark: Callable[[], int] = lambda: 0
    ) -> RecordCall:
        """Return the function that takes the output of a node, wrapped by the watch if any."""
        if self._watch is None:
            return take
        found = self._watch.bind_output(name, take, mark)
        self.places.add(name, found)
        return found

    def _enter(self, name: str, call: RecordCall) -> None:
        cursor = self._services.cursor

        def take_table(table: pa.Table) -> None:
            records = rows_of(whole(table))
            if STREAM_TIME not in table.column_names:
                for record in records:
                    call(record)
                return
            present = cursor.stream_time
            times: list[int] = objects_of(table.column(STREAM_TIME))
            for record, cursor.stream_time in zip(records, times, strict=True):
                call(record)
            cursor.stream_time = present

        self._record_calls[name] = call
        self._table_calls[name] = take_table

    def _calls(self, name: str, calls: Mapping[str, _Call]) -> dict[str, _Call]:
        """Return the functions that receive the output of a node or source, by child name."""
        found: dict[str, Any] = {}
        for child in self._children[name]:
            found[child.name] = to_each([calls[each] for each in inputs_of(child, name)])
        return found

    def _context(self, node: ProcessorNode, hands_on: HandsOn) -> RecordTaskContext:
        children = self._calls(node.name, self._record_calls)
        joints = self.joints_behind(node.name)
        edges = self._edges(node)
        return RecordTaskContext(
            node,
            self._services,
            children,
            joints,
            edges=edges,
            flow=self.flows.of(node, hands_on),
            may_skip=self._eager,
        )

    def _edges(self, node: ProcessorNode) -> dict[str, _TableCall]:
        """Return the receivers of encoded records, by the repartition edges right below a node."""
        return {
            child.name: self.collectors[child.name].take_encoded
            for child in self._children[node.name]
            if isinstance(child, RepartitionNode)
        }

    def _record(self, node: ProcessorNode, processor: Processor[Any, Any, Any, Any]) -> None:
        context = self._context(node, hands_on_of(processor))
        processor.init(context)
        context.initialised()
        self._enter(node.name, self._bound(node, processor.process))

    def _join(self, node: ProcessorNode, processor: JoinProcessor[Any, Any, Any, Any, Any]) -> None:
        context = self._context(node, "any")
        processor.init(context)
        context.initialised()
        calls: tuple[RecordCall, RecordCall]
        if any(node.name in joins for joins in self._behind.values()):
            joint = self.joints[node.name] = Joint(processor, partial(self._bound, node))
            self.places.add(node.name, joint)
            calls = joint.take_left, joint.take_right
        else:
            calls = (
                self._bound(node, processor.process_left),
                self._bound(node, processor.process_right),
            )
        for side, call in zip(sides(node.name), calls, strict=True):
            self._enter(side, call)

    def _bound(self, node: ProcessorNode, call: RecordCall) -> RecordCall:
        """Return `call`, which takes a node's records, within the node's check and interceptors."""
        self.places.add(node.name, call)
        if node.stores and not self._entries.issuperset(node.parents):
            call = _with_checked_time(call)
            self.places.add(node.name, call)
        for each in reversed(self._interceptors):
            call = checked_call(each, node.name, each.bind(node.name, self._services.task, call))
        self.places.add(node.name, call)
        return call

    def _batch(self, node: ProcessorNode, processor: BatchProcessor[Any, Any, Any, Any]) -> None:
        self._start(node, processor)
        self._buffer(node.name, BatchBuffer(node, processor))
        self._count_input_of(node.name)

    def _start(self, node: ProcessorNode, processor: BatchProcessor[Any, Any, Any, Any]) -> None:
        children = self._calls(node.name, self._table_calls)
        joints = self.joints_behind(node.name)
        edges = self._edges(node)
        flow = self.flows.of(node, "any")
        context = BatchTaskContext(node, self._services, children, joints, edges=edges, flow=flow)
        processor.init(context)
        context.initialised()

    def _columns(self, node: ProcessorNode, processor: ColumnProcessor) -> None:
        self._start(node, processor)
        if isinstance(processor, ColumnJoinProcessor):
            left, right = sides(node.name)
            both: Meeting[pa.Table] = Meeting(
                partial(self._intercepted, node), partial(join_tables, processor)
            )
            self.places.add(node.name, both)
            self._buffer(right, ColumnBuffer(node, processor, both.rights.append, both.settle))
            self._buffer(left, ColumnBuffer(node, processor, both.lefts.append))
        else:
            name = node.name
            if isinstance(node, JoinNode):
                name, right = sides(node.name)
                self._record_calls[right] = self._table_calls[right] = no_input
            call = self._intercepted(node, processor.process_batch)
            self._buffer(name, ColumnBuffer(node, processor, call))
            if name == node.name:
                self._count_input_of(name)
        self.column_processors.insert(0, (node.name, processor))

    def _intercepted(self, node: ProcessorNode, call: _TableCall) -> _TableCall:
        for each in reversed(self._interceptors):
            if isinstance(each, ColumnInterceptor):  # as each is, or none runs by columns
                call = each.bind_columns(node.name, self._services.task, call)
                checked_call(each, node.name, call)
        return call

    def _buffer(self, name: str, buffer: BatchBuffer) -> None:
        """Register the buffer of an input; a single input has the name of its node."""
        self._buffers[name] = buffer
        self.places.add(buffer.node, buffer)
        self._record_calls[name] = buffer.take
        self._table_calls[name] = buffer.take_table

    def _count_input_of(self, node: str) -> None:
        """Use the buffer of a node's single input to count its records."""
        buffer = self._buffers[node]
        self.flows.set_input_count(node, lambda: buffer.count)


def _with_checked_time(call: RecordCall) -> RecordCall:
    """Return a function that rejects a record with an invalid time, and else calls `call`."""

    def checked(record: Record[Any, Any]) -> None:
        if not EARLIEST_MS <= record.timestamp <= LATEST_MS:
            checked_time(record.timestamp)
        call(record)

    return checked
