"""Where records of several entries meet, which is where equal keys have to lie together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kstreams.graph.nodes import (
    AnyNode,
    Entry,
    JoinNode,
    LoopNode,
    ProcessorNode,
    RepartitionNode,
    SourceNode,
)
from kstreams.partitioner import InnerKeyPartitioner, Murmur2Partitioner, Partitioner
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde
from kstreams.serde.none import NONE

__all__ = (
    "Meeting",
    "framed_key_warnings",
    "inner_format",
    "inner_rule",
    "meetings",
    "serde_problems",
)


@dataclass(frozen=True)
class Meeting:
    """A join or a store, and the entries from which records come to it: two at least.

    Attributes:
        place: What it is, for people.
        entries: In the order of the graph.
    """

    place: str
    entries: tuple[Entry, ...]


def meetings(nodes: Iterable[AnyNode]) -> tuple[Meeting, ...]:
    """Return where records of several entries meet: joins, then stores, as they were added.

    A processor that reads a table meets its rows, but for a global one, which is whole in each
    task. An entry whose keys are `NONE` is left out:
    none of its records has a key to meet by.

    Args:
        nodes: Parents first; of a group alone its entries before them.
    """
    above: dict[str, dict[str, Entry]] = {}
    joins: dict[str, dict[str, Entry]] = {}
    stores: dict[str, dict[str, Entry]] = {}
    for node in nodes:
        if isinstance(node, (SourceNode, RepartitionNode, LoopNode)):
            key: object = _key(node)
            has_keys = isinstance(key, Serde) and key is not NONE
            above[node.name] = {node.name: node} if has_keys else {}
            continue
        found: dict[str, Entry] = {}
        for parent in node.parents:
            found |= above[parent]
        above[node.name] = found
        if isinstance(node, JoinNode):
            joins[f"join {node.name!r}"] = found
        if isinstance(node, ProcessorNode):
            for spec in (*node.stores, *node.reads):
                stores.setdefault(f"store {spec.name!r}", {}).update(found)
    places = joins | stores
    return tuple(
        Meeting(place, tuple(entries.values()))
        for place, entries in places.items()
        if len(entries) > 1
    )


def serde_problems(nodes: Iterable[AnyNode]) -> Iterator[str]:
    """Find entries whose records meet, while equal keys are other bytes in each of them."""
    known: set[frozenset[str]] = set()
    for meeting in meetings(nodes):
        first, *others = meeting.entries
        for other in others:
            pair = frozenset((first.name, other.name))
            one, two = inner_format(_key(first)), inner_format(_key(other))
            if one == two or pair in known:
                continue
            known.add(pair)
            yield (
                f"records of {first.name!r} and {other.name!r} meet in {meeting.place}, but their "
                f"keys are {one} and {two}: equal keys are other bytes there, and so lie in other "
                "partitions; give both one key serde, or put builder.repartition(...) with the "
                "other's below one of them"
            )


def framed_key_warnings(nodes: Iterable[AnyNode]) -> Iterator[str]:
    """Find sources with framed keys whose records meet others: what frames a key is hashed too."""
    for meeting in meetings(nodes):
        framed = [
            f"{entry.name!r} ({_key(entry).name})"
            for entry in meeting.entries
            if isinstance(entry, SourceNode) and _key(entry).plain is not _key(entry)
            if entry.topic.framing is None
        ]
        if framed:
            yield (
                f"records meet in {meeting.place}, and keys of {', '.join(framed)} have a frame: "
                "the partitioner of whoever writes them hashes it with the key, so equal keys "
                "whose schemas have unlike ids lie in unlike partitions, and do not meet. Use a "
                "plain serde for keys, or put builder.repartition(...) below the source, which "
                "takes the frame off"
            )


def inner_format(key: Serde[object]) -> str:
    """Return the name of the format that decides a key's partition: a windowed key's own key."""
    while key.tail_bytes and isinstance(key, CompositeSerde):
        key = key.parts[0]
    return key.name


def inner_rule(partitioner: Partitioner) -> Partitioner:
    """Return the rule that a partitioner follows once windows are taken off the keys."""
    return Murmur2Partitioner() if isinstance(partitioner, InnerKeyPartitioner) else partitioner


def _key(entry: Entry) -> Serde[object]:
    return entry.topic.key if isinstance(entry, SourceNode) else entry.key
