"""Find the joins and stores whose inputs must be co-partitioned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from kstreams.graph.inner_keys import entry_key, inner_format
from kstreams.graph.nodes import (
    AnyNode,
    Entry,
    JoinNode,
    LoopNode,
    ProcessorNode,
    RepartitionNode,
    SourceNode,
)
from kstreams.parameters import MAY_CHANGE, Parameters, changes, shown
from kstreams.serde.base import Serde
from kstreams.serde.none import NONE

__all__ = (
    "Meeting",
    "framed_key_warnings",
    "meetings",
    "serde_problems",
    "shared_store_problems",
    "stateful_places",
)


@dataclass(frozen=True)
class Meeting:
    """A join or a store, and the sources, repartition edges and loops whose records reach it.

    Attributes:
        place: The join or the store, as error messages name it.
        store: Name of the store; empty for a join.
        nodes: The nodes that join, or that use the store.
        entries: The sources, repartition edges and loops whose records reach the join or store, in
            the order of the graph.
    """

    place: str
    store: str
    nodes: tuple[str, ...]
    entries: tuple[Entry, ...]


def meetings(nodes: Iterable[AnyNode]) -> tuple[Meeting, ...]:
    """Return the joins, then the stores, that the records of several inputs reach.

    Inputs are sources, repartition edges and loops; those with the key serde `NONE` are omitted,
    because their records have no keys. A processor that reads a table counts as a user of the
    table's store; reads of global tables, which are complete in each task, do not count.

    Args:
        nodes: The nodes, parents first; if they are the nodes of one group, its inputs come first.
    """
    found: list[Meeting] = []
    for place in stateful_places(nodes):
        keyed = tuple(entry for entry in place.entries if _has_keys(entry))
        if len(keyed) > 1:
            found.append(replace(place, entries=keyed))
    return tuple(found)


def stateful_places(nodes: Iterable[AnyNode]) -> tuple[Meeting, ...]:
    """Return all joins, then all stores, each with the inputs whose records reach it.

    Inputs are sources, repartition edges and loops.

    Args:
        nodes: The nodes, parents first; if they are the nodes of one group, its inputs come first.
    """
    above: dict[str, dict[str, Entry]] = {}
    joins: list[Meeting] = []
    users: dict[str, dict[str, None]] = {}
    stores: dict[str, dict[str, Entry]] = {}
    for node in nodes:
        if isinstance(node, (SourceNode, RepartitionNode, LoopNode)):
            above[node.name] = {node.name: node}
            continue
        found: dict[str, Entry] = {}
        for parent in node.parents:
            found |= above[parent]
        above[node.name] = found
        if isinstance(node, JoinNode):
            joins.append(Meeting(f"join {node.name!r}", "", (node.name,), tuple(found.values())))
        if isinstance(node, ProcessorNode):
            for spec in (*node.stores, *node.reads):
                users.setdefault(spec.name, {})[node.name] = None
                stores.setdefault(spec.name, {}).update(found)
    return (
        *joins,
        *(
            Meeting(f"store {name!r}", name, tuple(users[name]), tuple(entries.values()))
            for name, entries in stores.items()
        ),
    )


def serde_problems(nodes: Iterable[AnyNode]) -> Iterator[str]:
    """Yield a problem for each two inputs of a join or store that have different key serdes."""
    known: set[frozenset[str]] = set()
    for meeting in meetings(nodes):
        first, *others = meeting.entries
        for other in others:
            pair = frozenset((first.name, other.name))
            one, two = inner_format(entry_key(first)), inner_format(entry_key(other))
            if one == two or pair in known:
                continue
            known.add(pair)
            yield (
                f"records of {first.name!r} and {other.name!r} meet in {meeting.place}, but their "
                f"keys are {one} and {two}: equal keys have different bytes, and so different "
                f"partitions; give both the same key serde, or put builder.repartition(...) with "
                "the key serde of one below the other"
            )


def framed_key_warnings(nodes: Iterable[AnyNode]) -> Iterator[str]:
    """Yield a warning for each join or store whose sources have keys with different frames.

    Producers hash the frame of a key (see `FramedSerde`), so equal keys may have different
    partitions.
    """
    for meeting in meetings(nodes):
        framed = [
            f"{entry.name!r} ({entry_key(entry).name})"
            for entry in meeting.entries
            if isinstance(entry, SourceNode) and entry_key(entry).plain is not entry_key(entry)
            if entry.topic.framing is None
        ]
        if framed:
            yield (
                f"records meet in {meeting.place}, and keys of {', '.join(framed)} have a frame: "
                "producers hash the frame with the key, so equal keys with different schema ids "
                "are in different partitions, and do not meet. Use a plain serde for keys, or put "
                "builder.repartition(...) below the source, which removes the frame"
            )


def _has_keys(entry: Entry) -> bool:
    key: object = entry_key(entry)
    return isinstance(key, Serde) and key is not NONE


def shared_store_problems(ordered: Iterable[AnyNode]) -> Iterator[str]:
    """Yield a problem for each pair of nodes whose parameters for a shared store differ."""
    seen: dict[str, tuple[Parameters, str]] = {}
    for node in ordered:
        if not isinstance(node, ProcessorNode):
            continue
        for store, own in node.store_parameters.items():
            other, user = seen.setdefault(store, (own, node.name))
            for name, before, now in changes(other, own):
                if name not in MAY_CHANGE:
                    yield (
                        f"nodes {user!r} and {node.name!r} share store {store!r}, but {name} is "
                        f"{shown(name, before)} in one and {shown(name, now)} in the other: give "
                        f"each node its own store"
                    )
