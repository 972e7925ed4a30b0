"""The division of state among another number of partitions: its conditions and its stores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.resume import positions_after
from kstreams.checkpoint.start.changes import RESCALE_COMMAND, StoreChange, StoreChangeKind
from kstreams.checkpoint.start.divided_group import DividedStore, GroupDivision
from kstreams.checkpoint.start.key_routes import KeyRoute, is_known_by_key, key_route
from kstreams.checkpoint.start.rescale_settings import RescaleSettings
from kstreams.graph.checks.partitions import Uneven
from kstreams.graph.nodes import LoopNode, SourceNode
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.ids import TopicPartition
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.commits import Commit
from kstreams.state.stores.spec import StoreSpec
from kstreams.task.progress.task_meta import TaskMeta

__all__ = ("Rescaling", "TopicSpan", "Unread", "lowest_positions")


@dataclass(frozen=True)
class TopicSpan:
    """The offsets that a topic has.

    Attributes:
        begins: The first offset of each partition.
        ends: The offset after the last record of each partition.
    """

    begins: Mapping[int, int]
    ends: Mapping[int, int]


@dataclass(frozen=True)
class Unread:
    """Unread records of a source in partitions that the topic had before.

    Attributes:
        topic: The topic or log.
        records: The number of unread offsets, which may exceed the number of records.
        before: The old number of partitions.
        now: The new number of partitions.
    """

    topic: str
    records: int
    before: int
    now: int


@dataclass(frozen=True)
class Rescaling:
    """Finds the stores to divide, and the reasons against a division.

    Attributes:
        checkpoint: The existing checkpoint.
        topology: The topology to start.
        tasks: The new number of tasks, by group.
        uneven: Inputs and stores with fewer partitions than their group has tasks.
        commits: The last commit of each query that has a commit.
        span: Returns the offsets of a topic; None if topics are not known.
    """

    checkpoint: Checkpoint
    topology: Topology
    tasks: Mapping[str, int]
    uneven: Uneven
    commits: Sequence[Commit]
    span: Callable[[str], TopicSpan] | None = None

    def division(
        self,
        group: PartitionGroup,
        changes: Mapping[str, StoreChange],
        made: Checkpoint,
        objects: ObjectStore,
        backend: StateBackend,
    ) -> GroupDivision | None:
        """Return the division of a group's state; None if its stores stay, or have no state.

        Args:
            group: The group.
            changes: The planned change of each store, without problems.
            made: The checkpoint with the new number of tasks.
            objects: The durable log.
            backend: The backend of temporary working copies.
        """
        divided = self._divided(group, changes)
        olds = {
            task.partition: pointer
            for commit in self.commits
            for task, pointer in commit.pointers().items()
            if task.group == group.name
        }
        if not divided or not olds:
            return None
        kept = {spec.name for spec in group.stores if changes[spec.name].action == "keep"}
        return GroupDivision(self.checkpoint, made, group, olds, divided, kept, objects, backend)

    def _divided(
        self, group: PartitionGroup, changes: Mapping[str, StoreChange]
    ) -> tuple[DividedStore, ...]:
        found: list[DividedStore] = []
        for spec in self._rescaled(group, changes):
            route = key_route(group, spec)
            if isinstance(route, KeyRoute):
                found.append(DividedStore(spec, route, *self._counts(group, spec)))
        return tuple(found)

    def problems(
        self, changes: Mapping[str, StoreChange], settings: RescaleSettings
    ) -> Iterator[str]:
        """Yield the reasons why state cannot be divided, each with the next step.

        Args:
            changes: The planned change of each store.
            settings: The permissions of the user.
        """
        for group in self.topology.groups:
            rescaled = list(self._rescaled(group, changes))
            for spec in rescaled:
                yield from self._store_problems(group, spec, settings)
            if rescaled:
                yield from self._group_problems(group, changes)
        if not settings.allow_unread:
            for unread in self.unread(changes):
                yield (
                    f"topic {unread.topic!r} has {unread.records:,} unread records in the "
                    f"{unread.before} partitions that it had before; tasks of {unread.now} "
                    "partitions would process them without the state of keys that move (let the "
                    "app read all records before partitions are added; to give up the exact "
                    f"results of these records, pass --allow-unread to `{RESCALE_COMMAND}`)"
                )

    def unread(self, changes: Mapping[str, StoreChange]) -> list[Unread]:
        """Return the topics that have unread records in old partitions of divided groups."""
        if self.span is None:
            return []
        positions = lowest_positions(self.commits)
        found: dict[str, Unread] = {}
        for group in self.topology.groups:
            if not any(self._rescaled(group, changes)):
                continue
            for node in group.sources:
                topic, before = node.topic.name, self.old_count(group, node)
                now = self.uneven.of_input(node.name, self.tasks[group.name])
                if before is None or before == now:
                    continue
                span = self.span(topic)
                records = sum(
                    max(0, span.ends[p] - positions.get(TopicPartition(topic, p), span.begins[p]))
                    for p in range(min(before, now))
                )
                if records:
                    found[topic] = Unread(topic, records, before, now)
        return list(found.values())

    def new_positions(self, known: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the first offset of each new partition of known topics.

        So an app reads new partitions from their start, even if its source starts at the end.
        """
        found: dict[TopicPartition, int] = {}
        for group in self.topology.groups if self.span is not None else ():
            for node in group.sources:
                topic, before = node.topic.name, self.old_count(group, node)
                now = self.uneven.of_input(node.name, self.tasks[group.name])
                if before is None or now <= before or self.span is None:
                    continue
                begins = self.span(topic).begins
                places = {p: TopicPartition(topic, p) for p in range(before, now)}
                found |= {place: begins[p] for p, place in places.items() if place not in known}
        return found

    def loops(
        self, groups: Iterable[PartitionGroup], names: Collection[str]
    ) -> dict[str, tuple[LoopNode, int]]:
        """Return the loops whose number of tasks changes: node and new number, by name.

        Args:
            groups: The groups that read the loops.
            names: The names of the loops that have records.
        """
        found: dict[str, tuple[LoopNode, int]] = {}
        for group in groups:
            for loop in group.loops:
                now = self.uneven.of_input(loop.name, self.tasks[group.name])
                old = self.checkpoint
                if loop.name in names and now != old.uneven.of_input(
                    loop.name, old.tasks.get(group.name, now)
                ):
                    found[loop.name] = loop, now
        return found

    def old_count(self, group: PartitionGroup, node: SourceNode) -> int | None:
        """Return the old partition count of a source; None if the checkpoint does not have it."""
        old = self.checkpoint
        if node.topic.name not in old.shape.get(group.name, {}).get("sources", {}):
            return None
        return old.uneven.of_input(node.name, old.tasks[group.name])

    def _rescaled(
        self, group: PartitionGroup, changes: Mapping[str, StoreChange]
    ) -> Iterator[StoreSpec[Any]]:
        for spec in group.stores:
            if changes[spec.name].verdict is StoreChangeKind.RESCALED:
                yield spec

    def _counts(self, group: PartitionGroup, spec: StoreSpec[Any]) -> tuple[int, int]:
        before = self.checkpoint.partitions_of(spec.name, group.name)
        return before, self.uneven.of_store(spec.name, self.tasks[group.name])

    def _store_problems(
        self, group: PartitionGroup, spec: StoreSpec[Any], settings: RescaleSettings
    ) -> Iterator[str]:
        name = spec.name
        before, now = self._counts(group, spec)
        reset = f"begin the store empty with reset={{{name!r}}}"
        start = f"store {name!r} of group {group.name!r} cannot be divided from {before} into {now}"
        if not spec.kind.is_divisible:
            yield f"{start}: its kind {spec.kind.name!r} does not support it ({reset})"
            return
        route = key_route(group, spec)
        if isinstance(route, str):
            yield f"{start}: {route} ({reset})"
        elif not is_known_by_key(group, spec) and name not in settings.by_key:
            yield (
                f"{start}: a custom processor writes the store, and the library does not know "
                f"the keys of its rows (if they are the keys of the records, pass --by-key "
                f"{name} to `{RESCALE_COMMAND}`; "
                f"otherwise {reset})"
            )
        topics = {
            TaskMeta.from_json(pointer.meta).changelogs.get(name, ("", 0))[0]
            for commit in self.commits
            for task, pointer in commit.pointers().items()
            if task.group == group.name
        }
        if spec.changelog is not None and spec.changelog in topics:
            yield (
                f"{start}: changelog topic {spec.changelog!r} has rows in the old partitions of "
                "their keys (give the changelog a topic with another name, which the app fills)"
            )

    def _group_problems(
        self, group: PartitionGroup, changes: Mapping[str, StoreChange]
    ) -> Iterator[str]:
        for spec in group.stores:
            change = changes[spec.name]
            if change.action and change.action not in ("keep", "divide"):
                yield (
                    f"store {spec.name!r} of group {group.name!r} would {change.action} in the "
                    f"same start that divides other stores of the group (first divide those "
                    f"stores, with the previous topology)"
                )


def lowest_positions(commits: Iterable[Commit]) -> dict[TopicPartition, int]:
    """Return the lowest next offset of each partition in the last commits of all queries."""
    found: dict[TopicPartition, int] = {}
    for commit in commits:
        for place, offset in positions_after(commit).items():
            found[place] = min(offset, found.get(place, offset))
    return found
