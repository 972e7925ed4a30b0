"""The serde and the partitioner of keys without their windows, which determine the partition."""

from __future__ import annotations

from kstreams.graph.nodes import Entry, SourceNode
from kstreams.partitioner import InnerKeyPartitioner, Murmur2Partitioner, Partitioner
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde

__all__ = ("entry_key", "inner_format", "inner_rule", "partition_rule")


def inner_format(key: Serde[object]) -> str:
    """Return the name of a key's serde; of a windowed key, the name of the inner key's serde."""
    while key.tail_bytes and isinstance(key, CompositeSerde):
        key = key.parts[0]
    return key.name


def inner_rule(partitioner: Partitioner) -> Partitioner:
    """Return the inner key's partitioner if keys are windowed; otherwise the given partitioner."""
    return Murmur2Partitioner() if isinstance(partitioner, InnerKeyPartitioner) else partitioner


def entry_key(entry: Entry) -> Serde[object]:
    """Return the serde of the keys of a source, edge or loop."""
    return entry.topic.key if isinstance(entry, SourceNode) else entry.key


def partition_rule(entry: Entry) -> tuple[str, Partitioner]:
    """Return the format and the partitioner of keys, without their windows.

    Two entries with equal rules and partition counts have equal keys in the same partition.
    """
    place = entry.topic if isinstance(entry, SourceNode) else entry
    return inner_format(place.key), inner_rule(place.partitioner)
