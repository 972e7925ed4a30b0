"""The number of tasks of each partition group, and checks of co-partitioning.

A group has as many tasks as its largest topic has partitions. Inputs whose records reach the same
join or store form a co-partitioned set, and must have the same partition count and partitioner.
Other inputs of the group may have fewer partitions: then some tasks do not read from such an input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kstreams.errors import PartitionCountError
from kstreams.graph.checks.co_partitioning import Meeting, stateful_places
from kstreams.graph.checks.repartition_hints import Side, repartition_hint
from kstreams.graph.inner_keys import inner_rule
from kstreams.graph.nodes import Entry, RepartitionNode, SourceNode
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.partitioner import Partitioner

__all__ = ("PartitionCounts", "Uneven", "partition_counts")

_Records = Callable[[str], int] | None


@dataclass(frozen=True)
class Uneven:
    """The inputs and stores that have fewer partitions than their group has tasks.

    Attributes:
        inputs: Partition count by source node, repartition edge or loop.
        stores: Partition count by store.
    """

    inputs: Mapping[str, int] = field(default_factory=dict)
    stores: Mapping[str, int] = field(default_factory=dict)

    def of_input(self, name: str, tasks: int) -> int:
        """Return an input's partition count; if it is not uneven, the group's number of tasks."""
        return self.inputs.get(name, tasks)

    def inputs_of(self, group: PartitionGroup, tasks: int) -> dict[str, int]:
        """Return the partition count of each input of a group with `tasks` tasks."""
        return {entry.name: self.of_input(entry.name, tasks) for entry in group.inputs}

    def of_store(self, name: str, tasks: int) -> int:
        """Return a store's partition count; if it is not uneven, the group's number of tasks."""
        return self.stores.get(name, tasks)


@dataclass(frozen=True)
class PartitionCounts:
    """The numbers of tasks and partitions of a topology.

    Attributes:
        tasks: Number of tasks by group.
        uneven: Inputs and stores with fewer partitions than their group has tasks.
    """

    tasks: dict[str, int]
    uneven: Uneven


def partition_counts(
    topology: Topology, counts: Mapping[str, int], records: _Records = None
) -> PartitionCounts:
    """Return each group's number of tasks, and the partition counts that differ from it.

    Args:
        topology: The topology whose tasks are counted.
        counts: Partition count of each source topic, by topic.
        records: Returns the number of records of a topic, for the hint of an error; None if the
            number is not known.

    Raises:
        PartitionCountError: Inputs that have to be co-partitioned differ in partition count or
            partitioner. The message names the nodes that need co-partitioning; the hint shows code
            that fixes the topology.
    """
    tasks: dict[str, int] = {}
    inputs: dict[str, int] = {}
    stores: dict[str, int] = {}
    above = {edge.name: group.name for group in topology.groups for edge in group.exits}
    for group in topology.groups:
        fixed = _fixed(group, counts)
        inherited = [tasks[above[entry.name]] for entry in group.entries]
        if not (fixed or inherited):  # loops alone lead here
            inherited = [max(_pipeline_counts(topology, group, counts))]
        most = max(fixed.values(), default=0) or max(inherited)
        tasks[group.name] = most
        own = {entry.name: fixed.get(entry.name, most) for entry in group.inputs}
        places = stateful_places((*group.entries, *group.nodes))
        for entries, meeting in _co_partitioned(places):
            found = _one_count(group, entries, meeting, counts, records)
            _check_partitioners(group, entries, meeting, counts, records)
            own |= {entry.name: found or most for entry in entries}
        inputs |= {name: count for name, count in own.items() if count < most}
        for place in places:
            if place.store and place.entries and own[place.entries[0].name] < most:
                stores[place.store] = own[place.entries[0].name]
    return PartitionCounts(tasks, Uneven(inputs, stores))


def _fixed(group: PartitionGroup, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the partition count of each input whose topic or repartition edge determines it."""
    fixed = {node.name: counts[node.topic.name] for node in group.sources}
    return fixed | {edge.name: edge.partitions for edge in group.entries if edge.partitions}


def _co_partitioned(
    places: Sequence[Meeting],
) -> Iterator[tuple[tuple[Entry, ...], tuple[Meeting, ...]]]:
    """Yield each set of inputs that must be co-partitioned, with the joins and stores that need it.

    Two inputs are in one set if they reach the same join or store, or if other inputs connect them
    in this way.
    """
    sets: list[tuple[dict[str, Entry], list[Meeting]]] = []
    for place in places:
        entries = {entry.name: entry for entry in place.entries}
        reasons = [place]
        apart: list[tuple[dict[str, Entry], list[Meeting]]] = []
        for others, why in sets:
            if others.keys() & entries.keys():
                entries = others | entries
                reasons = [*why, *reasons]
            else:
                apart.append((others, why))
        sets = [*apart, (entries, reasons)]
    for entries, reasons in sets:
        yield tuple(entries.values()), tuple(reasons)


def _one_count(
    group: PartitionGroup,
    entries: tuple[Entry, ...],
    meeting: tuple[Meeting, ...],
    counts: Mapping[str, int],
    records: _Records,
) -> int | None:
    """Return the common partition count of co-partitioned inputs; None if no input has a count.

    Raises:
        PartitionCountError: The inputs have different partition counts.
    """
    fixed = _fixed(group, counts)
    wanted = {_shown(entry): fixed[entry.name] for entry in entries if entry.name in fixed}
    if len(set(wanted.values())) > 1:
        listed = ", ".join(f"{name} has {count}" for name, count in wanted.items())
        raise PartitionCountError(
            f"partition counts differ in group {group.name!r}, and {_reason(meeting)}: {listed}",
            hint="one task must get all records of a key. "
            + repartition_hint(group, _sides(entries, counts, records), entries, by="count"),
        )
    return next(iter(wanted.values()), None)


def _check_partitioners(
    group: PartitionGroup,
    entries: tuple[Entry, ...],
    meeting: tuple[Meeting, ...],
    counts: Mapping[str, int],
    records: _Records,
) -> None:
    partitioners = {_shown(entry): _partitioner(entry) for entry in entries}
    if len({inner_rule(partitioner) for partitioner in partitioners.values()}) > 1:
        listed = ", ".join(f"{name} by {p.name}" for name, p in partitioners.items())
        raise PartitionCountError(
            f"partitioners differ in group {group.name!r}, and {_reason(meeting)}: {listed}",
            hint="inputs need the same partitioner, not only equal partition counts. "
            + repartition_hint(group, _sides(entries, counts, records), entries, by="partitioner"),
        )


def _reason(meeting: tuple[Meeting, ...]) -> str:
    """Return a text such as "node 'join' needs co-partitioning", for error messages."""
    places = [place for place in meeting if len(place.entries) > 1]
    nodes = dict.fromkeys(name for place in places for name in place.nodes)
    stores = dict.fromkeys(place.store for place in places if place.store)
    word, verb = ("node", "needs") if len(nodes) == 1 else ("nodes", "need")
    kept = f" (store {', '.join(map(repr, stores))})" if stores else ""
    return f"{word} {', '.join(map(repr, nodes))}{kept} {verb} co-partitioning"


def _shown(entry: Entry) -> str:
    if isinstance(entry, SourceNode):
        return f"topic {entry.topic.name!r}"
    word = "repartition" if isinstance(entry, RepartitionNode) else "loop"
    return f"{word} {entry.name!r}"


def _partitioner(entry: Entry) -> Partitioner:
    return entry.topic.partitioner if isinstance(entry, SourceNode) else entry.partitioner


def _pipeline_counts(
    topology: Topology, group: PartitionGroup, counts: Mapping[str, int]
) -> Iterator[int]:
    """Yield the partition counts of all source topics of the pipeline that contains a group."""
    for groups in topology.pipelines():
        if group in groups:
            yield from (counts[node.topic.name] for each in groups for node in each.sources)


def _sides(entries: tuple[Entry, ...], counts: Mapping[str, int], records: _Records) -> list[Side]:
    return [
        Side(
            node,
            counts[node.topic.name],
            None if records is None else records(node.topic.name),
        )
        for node in entries
        if isinstance(node, SourceNode)
    ]
