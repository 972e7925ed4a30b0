"""The rule by which the keys of a store determine its tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.errors import CheckpointMismatchError, KStreamsError, ProcessingError
from kstreams.graph.checks.co_partitioning import stateful_places
from kstreams.graph.inner_keys import inner_format, inner_rule
from kstreams.graph.nodes import Entry, ProcessorNode, SourceNode
from kstreams.graph.topology import PartitionGroup
from kstreams.partitioner import InnerKeyPartitioner, Partitioner
from kstreams.processors.supplier import KeyedSupplier
from kstreams.quoting import kind_of, text_of
from kstreams.serde.base import Serde
from kstreams.serde.none import NONE
from kstreams.state.stores.spec import StoreSpec

__all__ = ("KeyRoute", "is_known_by_key", "key_route")

_LIBRARY = "kstreams."


@dataclass(frozen=True)
class KeyRoute:
    """The rule by which the keys of a store determine its tasks.

    Attributes:
        partitioner: The partitioner of the inputs of the store.
        tail_bytes: The number of last bytes of a store key that encode a window, which the
            partitioner does not get.
    """

    partitioner: Partitioner
    tail_bytes: int = 0

    def partitions(self, keys: pa.Array, count: int) -> npt.NDArray[np.int32]:
        """Return the partition of each key of a `binary` array, of `count` partitions.

        Raises:
            ProcessingError: The partitioner raised.
        """
        inner = pc.binary_slice(keys, 0, -self.tail_bytes) if self.tail_bytes else keys
        try:
            return self.partitioner.partition_batch(inner, count)
        except Exception as exc:
            raise ProcessingError(
                f"partitioner {self.partitioner.name!r} raised {kind_of(exc)}: {text_of(exc)}",
                cause_type=type(exc).__name__,
                hint="nothing was changed; fix the partitioner and try again.",
            ) from exc

    def owners(
        self, keys: pa.Array, spec: StoreSpec[Any], *, partition: int, before: int, now: int
    ) -> npt.NDArray[np.int32]:
        """Return the new task of each key that an old task has.

        Args:
            keys: The keys in the store of the old task, encoded with the store's serde.
            spec: The definition of the store.
            partition: The number of the old task.
            before: The old number of partitions.
            now: The new number of partitions.

        Raises:
            CheckpointMismatchError: A key belongs to another old task than the one that has it.
            ProcessingError: The partitioner raised.
        """
        wrong = np.flatnonzero(self.partitions(keys, before) != partition)
        if len(wrong):
            data: bytes = keys[int(wrong[0])].as_py()
            raise CheckpointMismatchError(
                f"the state cannot be divided by its keys: {len(wrong):,} of {len(keys):,} keys in "
                f"task {partition} of {before} belong to another task by "
                f"{self.partitioner.name}, so the keys of the store are not the keys of the "
                "records, or records are in wrong partitions",
                hint="nothing was changed. Begin the store empty "
                f"(reset={{{spec.name!r}}}), or process the input again in a new app.",
            ).at(store=spec.name, partition=partition, key=_shown(spec.key, data))
        return self.partitions(keys, now)


def key_route(group: PartitionGroup, spec: StoreSpec[Any]) -> KeyRoute | str:
    """Return the route of a store's keys; if there is none, the reason as text.

    Args:
        group: The group of the store.
        spec: The definition of the store.
    """
    entries = list(_entries(group, spec))
    if not entries:
        return "no records with keys reach the store"
    routes = [_route(entry, spec) for entry in entries]
    for route in routes:
        if isinstance(route, str) or route != routes[0]:
            return route if isinstance(route, str) else "its inputs have different partitioners"
    return routes[0]


def is_known_by_key(group: PartitionGroup, spec: StoreSpec[Any]) -> bool:
    """Return whether only operators of the library write a store, with the keys of the records.

    A custom processor may use any keys in its stores, and so do `look_up` and `deduplicate` by
    another id than the key.
    """
    users = [
        node
        for node in group.nodes
        if isinstance(node, ProcessorNode) and any(s.name == spec.name for s in node.stores)
    ]
    return all(_writes_by_key(node.supplier) for node in users)


def _writes_by_key(supplier: object) -> bool:
    module: object = getattr(supplier, "__module__", "")
    if not (isinstance(module, str) and module.startswith(_LIBRARY)):
        return False
    return not isinstance(supplier, KeyedSupplier) or bool(supplier.keyed_stores)


def _entries(group: PartitionGroup, spec: StoreSpec[Any]) -> Iterator[Entry]:
    for place in stateful_places((*group.entries, *group.nodes)):
        if place.store == spec.name:
            yield from (entry for entry in place.entries if _key(entry) is not NONE)


def _route(entry: Entry, spec: StoreSpec[Any]) -> KeyRoute | str:
    key = _key(entry)
    partitioner = entry.topic.partitioner if isinstance(entry, SourceNode) else entry.partitioner
    if key.plain is not key:
        return f"keys of {entry.name!r} have a schema id, and their partitions depend on it"
    if spec.key.name == key.name:
        return KeyRoute(partitioner)
    if inner_format(spec.key) != inner_format(key):
        return (
            f"its keys have the serde {spec.key.name}, but keys of {entry.name!r} have {key.name}"
        )
    if key.tail_bytes and not isinstance(partitioner, InnerKeyPartitioner):
        return f"partitioner {partitioner.name!r} of {entry.name!r} needs the windows of keys"
    return KeyRoute(inner_rule(partitioner), spec.key.tail_bytes)


def _key(entry: Entry) -> Serde[Any]:
    found: Serde[Any] = entry.topic.key if isinstance(entry, SourceNode) else entry.key
    return found


def _shown(serde: Serde[Any], data: bytes) -> object:
    try:
        return serde.deserialize(data)
    except KStreamsError:
        return data
