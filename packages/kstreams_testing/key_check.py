"""Detect keys that reach a stateful node in a partition that their partitioner does not choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from typing_extensions import override

from kstreams.errors import KStreamsError, SerdeError, TopologyError
from kstreams.graph.nodes import AnyProcessor, Entry, JoinNode, LoopNode, ProcessorNode, SourceNode
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TaskId
from kstreams.partitioner import Partitioner
from kstreams.processors.context import BatchContext
from kstreams.processors.processor import BatchProcessor
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.objects import objects_of
from kstreams.topic import Topic
from kstreams.windowed import Windowed

__all__ = ("KeyCheck", "with_batch_checks")

_KEYS_HINT = (
    "if a processor upstream changes the key, put builder.repartition(...) after it; otherwise the "
    "test wrote the record to a wrong partition."
)


class KeyCheck:
    """An interceptor that checks the keys of the stateful processors of a group."""

    def __init__(self, group: PartitionGroup, partitions: Mapping[str, int]) -> None:
        self._checks = _checks(group, partitions)

    def bind(
        self, node: str, task: TaskId, process: Callable[[Record[Any, Any]], None]
    ) -> Callable[[Record[Any, Any]], None]:
        """Return a callback that checks the keys of a stateful node's records before `process`."""
        check = self._checks.get(node)
        if check is None:
            return process
        partition = task.partition

        def checked(record: Record[Any, Any]) -> None:
            check.key(record.key, partition)
            process(record)

        return checked

    def bind_columns(
        self, node: str, task: TaskId, process_batch: Callable[[pa.Table], None]
    ) -> Callable[[pa.Table], None]:
        """Return a callback that checks the keys of each table before `process_batch`.

        It is for stateful nodes that run by columns, whose keys may be bytes.
        """
        check = self._checks.get(node)
        if check is None:
            return process_batch

        def checked(table: pa.Table) -> None:
            keys = table.column("key")
            if isinstance(keys.type, pa.BaseExtensionType):  # of objects
                for key in dict.fromkeys(objects_of(keys)):
                    check.key(key, task.partition)
            elif pa.types.is_binary(keys.type):
                check.encoded(keys.unique(), task.partition)
            else:  # of another column processor
                check.column(keys.unique(), task.partition)
            process_batch(table)

        return checked


def with_batch_checks(
    group: PartitionGroup, partition: int, partitions: Mapping[str, int]
) -> PartitionGroup:
    """Return a task's group in which stateful batch processors check their keys too.

    Args:
        group: The group.
        partition: The partition of the task.
        partitions: The partition counts of the group's inputs, by name.
    """
    checks = _checks(group, partitions)
    nodes = tuple(
        replace(node, supplier=_checked(node, checks[node.name], partition))
        if isinstance(node, ProcessorNode) and node.batch and node.name in checks
        else node
        for node in group.nodes
    )
    return replace(group, nodes=nodes)


class _Check:
    """Checks that a stateful node gets keys in the partition that their partitioner chooses.

    Args:
        node: The name of the node.
        entry: The source, edge or loop from which the node gets its keys.
        partitions: The partition count of this input.
    """

    def __init__(self, node: str, entry: Entry, partitions: int) -> None:
        self._node = node
        self._partitions = partitions
        self._partitioner: Partitioner
        self._serde: Serde[Any]
        if isinstance(entry, SourceNode):
            topic = entry.topic
            self._serde, self._partitioner, self._source = topic.key, topic.partitioner, topic.name
        else:
            self._serde, self._partitioner, self._source = entry.key, entry.partitioner, entry.name

    def key(self, key: Any, partition: int) -> None:  # noqa: ANN401  # erased types
        """Check one key, without its windows.

        Raises:
            TopologyError: The key has another type than the keys of the input, or belongs to
                another partition.
        """
        key = _without_windows(key, self._serde)
        if key is None:
            return
        try:
            data = self._serde.serialize(key)
        except SerdeError as exc:
            why = f"has another type than the keys of {self._source!r}: {exc}"
            raise self._misplaced(key, partition, why) from exc
        owner = self._partitioner.partition(data, self._partitions)
        if owner != partition:
            raise self._misplaced(key, partition, f"belongs to partition {owner}")

    def column(self, keys: pa.Array, partition: int) -> None:
        """Check a column of keys.

        Raises:
            TopologyError: The column has another type than the keys of the input, or a key belongs
                to another partition.
        """
        try:
            data = self._serde.from_arrow(keys)
        except SerdeError as exc:
            raise TopologyError(
                f"keys of type {keys.type} reached stateful node {self._node!r}, which expects "
                f"keys of {self._source!r}: {exc}",
                hint=_KEYS_HINT,
            ).at(node=self._node, partition=partition) from exc
        self.encoded(data, partition)

    def encoded(self, data: pa.Array, partition: int) -> None:
        """Check a column of serialized keys; raises as `column` does."""
        owners = self._partitioner.partition_batch(data, self._partitions)
        wrong = np.flatnonzero((owners != partition) & (owners >= 0))
        if len(wrong):
            owner = int(owners[wrong[0]])
            key = self._serde.deserialize(data[int(wrong[0])].as_py())
            raise self._misplaced(key, partition, f"belongs to partition {owner}")

    def _misplaced(self, key: object, partition: int, why: str) -> KStreamsError:
        return TopologyError(
            f"key {key!r} reached stateful node {self._node!r} in partition {partition}, "
            f"but it {why}",
            hint=_KEYS_HINT,
        ).at(node=self._node, partition=partition, key=key)


def _without_windows(key: Any, serde: Serde[Any]) -> Any:  # noqa: ANN401  # erased types
    """Return the key that `serde` encodes, given a key that may be in additional windows."""
    given = key
    while serde.tail_bytes and isinstance(given, Windowed):
        given, serde = given.key, serde.parts[0]  # type: ignore[attr-defined]  # a composite
    while isinstance(given, Windowed):
        key, given = key.key, given.key
    return key


def _is_anywhere(topic: Topic[Any, Any]) -> bool:
    """Return whether a topic may have keys in any partition: by its policy or by its key serde."""
    return topic.misplaced == "count" or topic.key.plain is not topic.key


def _checks(group: PartitionGroup, partitions: Mapping[str, int]) -> dict[str, _Check]:
    if any(_is_anywhere(source.topic) for source in group.sources):
        return {}
    entries = {
        node.name: _entry(group, node.name)
        for node in group.processors
        if node.stores or node.reads or isinstance(node, JoinNode)
    }
    return {name: _Check(name, entry, partitions[entry.name]) for name, entry in entries.items()}


def _checked(node: ProcessorNode, check: _Check, partition: int) -> Callable[[], AnyProcessor]:
    """Return a supplier whose processors check the keys of each table."""
    return lambda: _CheckedProcessor(node.supplier(), check, partition)


class _CheckedProcessor(BatchProcessor[Any, Any, Any, Any]):
    """Checks the keys of each table, then passes the table to a processor."""

    def __init__(self, processor: Any, check: _Check, partition: int) -> None:  # noqa: ANN401  # erased types
        self._processor = processor
        self._check = check
        self._partition = partition

    @override
    def init(self, context: BatchContext) -> None:
        self._processor.init(context)

    @override
    def process_batch(self, table: pa.Table) -> None:
        self._check.column(table.column("key").unique(), self._partition)
        self._processor.process_batch(table)

    @override
    def close(self) -> None:
        self._processor.close()


def _entry(group: PartitionGroup, name: str) -> Entry:
    """Return the entry of the group (source, edge or loop) from which a node gets its keys."""
    nodes = {node.name: node for node in group.nodes}
    entries = {entry.name: entry for entry in group.entries}
    while name not in entries:
        node = nodes[name]
        if isinstance(node, (SourceNode, LoopNode)):
            return node
        name = node.parents[0]
    return entries[name]
