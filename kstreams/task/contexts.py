"""The contexts of processors. They are bound once, so that forwarding is a single call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

import pyarrow as pa

from kstreams.clock import to_ms
from kstreams.errors import OutsideBatchError, TopologyError, UnknownNodeError
from kstreams.graph.nodes import ProcessorNode
from kstreams.ids import TaskId
from kstreams.processors.context import Origin, PunctuationType
from kstreams.record import Record, RecordMetadata
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.access_reader import AccessReader
from kstreams.state.stores.spec import S, StoreSpec
from kstreams.state.stores.table_access import TableAccess
from kstreams.task.batch_hold import BatchHold
from kstreams.task.forwarding import settled, to_each
from kstreams.task.progress.cursor import Cursor
from kstreams.task.progress.origins import origin_of
from kstreams.task.progress.record_counts import NodeFlow
from kstreams.task.progress.task_meta import NO_TIME, TaskMeta
from kstreams.task.records.queues import Queue
from kstreams.task.records.rows import RecordCall
from kstreams.task.task_limits import TaskLimits
from kstreams.task.times.punctuation import Punctuators, Schedule
from kstreams.task.two_input_join import Joint

__all__ = ("BatchTaskContext", "RecordTaskContext", "TaskServices")

T = TypeVar("T")
"""The forwarded type: a record, or a table of records."""

_TableCall = Callable[[pa.Table], None]
_EFFECTS = ("forward", "forward_to", "forward_encoded", "drop", "advance_close_time")


class TaskServices:
    """The services that all contexts of a task share.

    Attributes:
        failed: Applies the policy of the source to a record that failed at a node.
        limits: Counts the records that arrive at limits.
    """

    def __init__(
        self,
        task: TaskId,
        overlay: Overlay,
        meta: TaskMeta,
        cursor: Cursor,
        tables: Mapping[str, TableAccess],
        failed: Callable[[str, Queue, int, object, BaseException], None],
        limits: TaskLimits,
    ) -> None:
        self.task = task
        self.limits = limits
        self.failed = failed
        self.overlay = overlay
        self.meta = meta
        self.cursor = cursor
        self.tables = tables
        self.stream = Punctuators()
        self.wall = Punctuators()
        self.holds: list[BatchHold] = []
        self.closing: list[tuple[str, Callable[[], None]]] = []
        self.stores: dict[str, Any] = {}
        self._contexts: list[_TaskContext] = []
        overlay.open()

    def add(self, context: _TaskContext) -> None:
        """Register a context, for `open` and `seal`."""
        self._contexts.append(context)

    def open(self) -> None:
        """Allow calls with an effect, such as forwarding: a batch begins."""
        self.overlay.open()
        for context in self._contexts:
            context.open()

    def seal(self) -> None:
        """Reject calls with an effect until the next `open`.

        Contexts replace the methods by functions that raise, and `open` restores them. An allowed
        call therefore costs no check.
        """
        self.overlay.seal()
        for context in self._contexts:
            context.seal()

    def store(self, spec: StoreSpec[S]) -> S:
        """Return the open store of a spec; all nodes get the same object."""
        found = self.stores.get(spec.name)
        if found is None:
            found = self.stores[spec.name] = spec.open(self.overlay)
        return found


class _TaskContext:
    """The common base of record and batch contexts."""

    def __init__(self, node: ProcessorNode, services: TaskServices) -> None:
        self._node = node
        self._services = services
        self._cursor = services.cursor
        self._open = True
        self._labels: set[str] = set()
        services.add(self)

    def initialised(self) -> None:
        """Reject `schedule`, `hold` and `on_end_of_run` from now on, because `init` has ended."""
        self._open = False

    def seal(self) -> None:
        """Reject calls that have an effect."""
        for name in _EFFECTS:
            setattr(self, name, partial(_refuse, self.node, name))

    def open(self) -> None:
        """Allow calls that have an effect again."""
        for name in _EFFECTS:
            vars(self).pop(name, None)

    @property
    def node(self) -> str:
        return self._node.name

    @property
    def task(self) -> TaskId:
        return self._services.task

    @property
    def stream_time(self) -> int:
        return self._cursor.stream_time

    @property
    def idle_time(self) -> int:
        return self._cursor.idle_time

    @property
    def wall_time(self) -> int:
        return self._cursor.wall_time

    def drop(self, reason: str, count: int = 1) -> None:
        self._cursor.drop(self.node, reason, count)

    def admit(self, count: int) -> int:
        return self._services.limits.admit(self.node, count)

    def hold(
        self,
        release: Callable[[Sequence[Any]], None],
        undo: Callable[[Sequence[Any]], None] | None = None,
    ) -> Callable[[Any], None]:
        if not self._open:
            raise TopologyError(
                f"node {self.node!r} calls hold outside init",
                hint="a processor exists for one batch: call hold in init, and keep its result.",
            )
        hold = BatchHold(self.node, release, undo)
        self._services.holds.append(hold)
        return hold.take

    def on_end_of_run(self, callback: Callable[[], None]) -> None:
        if not self._open:
            raise TopologyError(
                f"node {self.node!r} calls on_end_of_run outside init",
                hint="a processor exists for one batch: call on_end_of_run in init.",
            )
        self._services.closing.append((self.node, callback))

    @property
    def close_time(self) -> int:
        return self._services.meta.closed.get(self.node, NO_TIME)

    def advance_close_time(self, time_ms: int) -> None:
        self._services.meta.closed[self.node] = max(time_ms, self.close_time)

    def store(self, spec: StoreSpec[S]) -> S:
        if spec not in self._node.stores:
            known = ", ".join(repr(other.name) for other in self._node.stores)
            raise TopologyError(
                f"node {self.node!r} uses store {spec.name!r}, but was added with "
                f"{f'the stores {known}' if known else 'no stores'}",
                hint=f"add the store to stores=[...] of add_processor({self.node!r}, ...).",
            )
        return self._services.store(spec)

    def reader(self, table: StoreSpec[Any]) -> AccessReader[Any, Any]:
        if table in self._node.globals:
            return AccessReader(self._services.tables[table.name])
        if table not in self._node.reads:
            reads = (*self._node.reads, *self._node.globals)
            known = ", ".join(repr(other.name) for other in reads)
            raise TopologyError(
                f"node {self.node!r} uses table {table.name!r}, but was added to read "
                f"{f'the tables {known}' if known else 'no tables'}",
                hint=f"add the store of the table to reads=[...] of add_processor({self.node!r}, "
                f"...).",
            )
        return AccessReader(table.kind.table(table, self._services.store(table)))

    def schedule(
        self,
        interval: timedelta,
        type: PunctuationType,  # noqa: A002  # Kafka Streams' own name for it
        callback: Callable[[int], None],
        *,
        name: str | None = None,
    ) -> Schedule:
        span = to_ms(interval)
        if span < 1:
            raise TopologyError(
                f"node {self.node!r} schedules with interval {interval}, expected 1 ms or more"
            )
        if not self._open:
            raise TopologyError(
                f"node {self.node!r} calls schedule outside init",
                hint="a processor exists for one batch: call schedule in init.",
            )
        label = f"{self.node}/{name if name is not None else len(self._labels)}"
        if label in self._labels:
            raise TopologyError(
                f"node {self.node!r} schedules two punctuators named {label!r}",
                hint="give each punctuator a different name=, which identifies it after a restart.",
            )
        self._labels.add(label)
        stream = type is PunctuationType.STREAM_TIME
        meta = self._services.meta
        if label not in meta.due:
            meta.due[label] = 0 if stream else self._cursor.wall_time + span
        schedule = Schedule(self.node, label, span, callback, meta)
        if stream:
            schedule.align(self._cursor.stream_time)
        (self._services.stream if stream else self._services.wall).schedules.append(schedule)
        return schedule


class RecordTaskContext(_TaskContext):
    """The context of a record processor.

    With one child, the attribute `forward` is the `process` of that child: a chain of processors is
    then a chain of plain calls.

    Args:
        node: The node.
        services: The shared services of the task's contexts.
        children: The functions that take records, by child.
        joints: The `Joint` of each join that a record of the node may reach through both inputs.
        edges: The functions that take encoded records, by repartition edge.
        flow: Counts forwarded records.
        may_skip: Whether a failed record may be skipped.
    """

    def __init__(
        self,
        node: ProcessorNode,
        services: TaskServices,
        children: Mapping[str, RecordCall],
        joints: Sequence[Joint] = (),
        *,
        edges: Mapping[str, _TableCall] = MappingProxyType({}),
        flow: NodeFlow,
        may_skip: bool = False,
    ) -> None:
        super().__init__(node, services)
        self.may_skip = may_skip
        self._edges = {name: flow.tables_to(name, call) for name, call in edges.items()}
        self._children = {
            name: flow.records_to(name, settled(call, joints)) for name, call in children.items()
        }
        self._to_children = flow.records_to_all(settled(to_each(tuple(children.values())), joints))
        self.forward: RecordCall = self._to_children

    def open(self) -> None:
        """Accept calls that have an effect again."""
        super().open()
        self.forward = self._to_children

    def forward_to(self, child: str, record: Record[Any, Any]) -> None:
        """See `ProcessorContext`."""
        call = self._children.get(child)
        if call is None:
            raise _no_child(self.node, child, self._children)
        call(record)

    def forward_encoded(self, child: str, table: pa.Table) -> None:
        """See `EncodedContext`."""
        self._edges[child](table)

    def origin(self) -> Origin:
        """See `ProcessorContext`."""
        return origin_of(self._cursor, partial(self._services.failed, self.node))

    @property
    def metadata(self) -> RecordMetadata | None:
        """See `ProcessorContext`."""
        return self._cursor.metadata()


class BatchTaskContext(_TaskContext):
    """The context of a batch processor.

    Args:
        node: The node.
        services: The shared services of the task's contexts.
        children: The functions that take tables, by child.
        joints: The `Joint` of each join that a record of the node may reach through both inputs.
        edges: The functions that take encoded records, by repartition edge.
        flow: Counts forwarded records.
    """

    may_skip = False

    def __init__(
        self,
        node: ProcessorNode,
        services: TaskServices,
        children: Mapping[str, _TableCall],
        joints: Sequence[Joint] = (),
        *,
        edges: Mapping[str, _TableCall] = MappingProxyType({}),
        flow: NodeFlow,
    ) -> None:
        super().__init__(node, services)
        self._edges = {name: flow.tables_to(name, call) for name, call in edges.items()}
        self._children = {
            name: flow.tables_to(name, settled(call, joints)) for name, call in children.items()
        }
        self._to_children = flow.tables_to_all(settled(to_each(tuple(children.values())), joints))

    def forward(self, table: pa.Table) -> None:
        """See `BatchContext`."""
        self._to_children(table)

    def forward_to(self, child: str, table: pa.Table) -> None:
        """See `BatchContext`."""
        call = self._children.get(child)
        if call is None:
            raise _no_child(self.node, child, self._children)
        call(table)

    def forward_encoded(self, child: str, table: pa.Table) -> None:
        """See `EncodedContext`."""
        self._edges[child](table)


def _refuse(node: str, name: str, *_: object, **__: object) -> NoReturn:
    raise OutsideBatchError(f"node {node!r} calls {name} outside of a batch").at(node=node)


def _no_child(node: str, child: str, children: Mapping[str, Any]) -> UnknownNodeError:
    known = ", ".join(map(repr, children)) or "none"
    return UnknownNodeError(f"node {node!r} has no child {child!r}; its children: {known}")
