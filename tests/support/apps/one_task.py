"""One task of a topology, driven directly: raw records in, decoded records out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kstreams import INT64, TEXT, Processor, Record, Topic, Topology, TopologyBuilder
from kstreams.processors import Headers
from kstreams.processors.interceptor import Interceptor
from kstreams.raw_batch import INPUT_SCHEMA, headers_array
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.task.records.columns import rows_of
from kstreams.task.records.queues import Queue
from kstreams.task.task import Task
from kstreams.topic_limits import NO_LIMITS, Limits

IN = Topic("in", TEXT, INT64)
OUT = Topic("out", TEXT, INT64)

Raw = tuple[Any, Any, int]
"""Key (text or bytes), value (number or bytes) and timestamp; key and value may be None."""


def queue_of(
    rows: Sequence[Raw],
    *,
    entry: str = "in",
    partition: int = 0,
    offsets: Sequence[int] | None = None,
    headers: Sequence[Headers] | None = None,
) -> Queue:
    """Return a queue of raw rows; text and numbers are encoded by TEXT and INT64."""
    columns = [
        pa.array(offsets or range(len(rows)), pa.int64()),
        pa.array([time for _, _, time in rows], pa.int64()),
        pa.array([_bytes(key) for key, _, _ in rows], pa.binary()),
        pa.array([_bytes(value) for _, value, _ in rows], pa.binary()),
        headers_array(headers or [()] * len(rows)),
    ]
    return Queue(entry, entry, partition, pa.Table.from_arrays(columns, schema=INPUT_SCHEMA))


def _bytes(item: Any) -> bytes | None:
    if isinstance(item, int):
        return INT64.serialize(item)
    return item.encode() if isinstance(item, str) else item


class OneTask:
    """A task that commits after each batch; `renew` recreates it, as after a restart."""

    def __init__(
        self,
        topology: Topology,
        *,
        group: int = 0,
        partition: int = 0,
        wall_ms: int = 0,
        interceptors: Sequence[Interceptor] = (),
        limits: Limits = lambda _: NO_LIMITS,
        partitions: int | None = None,
    ) -> None:
        self.limits = limits
        self.partitions = partitions
        self.group = topology.groups[group]
        self.partition = partition
        self.interceptors = interceptors
        self.base = MemoryStore([spec.name for spec in self.group.stores])
        self.saved: str = json.dumps(TaskMeta().to_json())
        self.renew(wall_ms)

    def renew(self, wall_ms: int = 0) -> None:
        """Recreate the task from its committed state."""
        self.meta = TaskMeta.from_json(json.loads(self.saved))
        self.overlay = Overlay(self.base)
        self.task = Task(
            self.group,
            self.partition,
            self.overlay,
            self.meta,
            wall_ms=wall_ms,
            interceptors=self.interceptors,
            limits=self.limits,
            partitions=None
            if self.partitions is None
            else {entry.name: self.partitions for entry in self.group.inputs},
        )

    def run(self, *queues: Queue, wall_ms: int = 0) -> TaskOutput:
        """Run and commit a batch."""
        output = self.task.run(queues, wall_ms=wall_ms)
        self.base.write(self.overlay.changes())
        self.overlay.committed()
        self.saved = json.dumps(self.meta.to_json())
        return output


def records(table: pa.Table | None, topic: Topic[Any, Any] = OUT) -> list[Record[Any, Any]]:
    """Decode an output table."""
    if table is None:
        return []
    return [
        Record(
            None if raw.key is None else topic.key.deserialize(raw.key),
            None if raw.value is None else topic.value.deserialize(raw.value),
            raw.timestamp,
            raw.headers,
        )
        for raw in rows_of(table)
    ]


def values(output: TaskOutput, sink: str = "out") -> list[Any]:
    """Return the values written to a sink."""
    return [record.value for record in records(output.sinks.get(sink))]


def one_node(
    supplier: Callable[[], Any],
    *,
    stores: Sequence[Any] = (),
    source: Topic[Any, Any] = IN,
    sink: Any = OUT,
    on_error: Any = "fail",
) -> Topology:
    """Return a topology: `in` -> `node` -> `out`."""
    builder = TopologyBuilder("t", on_error=on_error)
    above = builder.add_source("in", source)
    node = builder.add_processor("node", supplier, above, stores=stores)
    builder.add_sink("out", sink, node)
    return builder.build()


class Calls(Processor[Any, Any, Any, Any]):
    """Calls a function with context and record, then forwards the record."""

    def __init__(
        self,
        function: Callable[[Any, Record[Any, Any]], object] | None = None,
        *,
        forward: bool = True,
    ) -> None:
        self.function = function
        self.forward = forward

    def process(self, record: Record[Any, Any]) -> None:
        if self.function is not None:
            self.function(self.context, record)
        if self.forward:
            self.context.forward(record)


def calls(function: Callable[[Any, Record[Any, Any]], object] | None = None) -> Callable[[], Calls]:
    """Return a supplier of `Calls`."""
    return lambda: Calls(function)
