"""What the tasks of a query know: the app's settings, what its start found, and their stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kstreams.batch.topic_io import TopicIO
from kstreams.checkpoint.app_settings import AppSettings
from kstreams.connection import TopicEnds
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TaskId
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.task_key import TaskKey

__all__ = ("QuerySettings", "StageSettings")


@dataclass(frozen=True)
class QuerySettings:
    """One query of an app: the same value for the driver and for all tasks.

    Attributes:
        app: The app's settings, as workers may know them.
        epoch: Id of the query's batches, like that of no other epoch; part of producer and
            record ids.
        scope: Name of the query's state in the durable log.
        log: Where deltas and snapshots go.
        groups: The partition groups, in the order of their stages.
        counts: Number of tasks, by stage.
        width: Number of Spark partitions of each stage; task `t` is in partition `t % width`.
        io: Reads source topics, and writes sink output.
        changelogs: By store, its changelog and where it ended at the app's start.
    """

    app: AppSettings
    epoch: str
    scope: str
    log: ObjectStoreSettings
    groups: tuple[PartitionGroup, ...]
    counts: tuple[int, ...]
    width: int
    io: TopicIO
    changelogs: Mapping[str, TopicEnds] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The query's name: its first group's."""
        return self.groups[0].name

    def stages(self) -> tuple[StageSettings, ...]:
        """Return the settings of each stage."""
        return tuple(StageSettings(self, number) for number in range(len(self.groups)))

    def task_key(self, task: TaskId) -> TaskKey:
        """Return the name of a task's state in the durable log."""
        return TaskKey(self.scope, *task)

    def producer(self, task: TaskId) -> str:
        """Return the id of a task as a writer of records."""
        return f"{self.epoch}/{task}"

    def producers(self) -> list[str]:
        """Return those of all tasks."""
        return [
            self.producer(TaskId(group.name, number))
            for group, count in zip(self.groups, self.counts, strict=True)
            for number in range(count)
        ]


@dataclass(frozen=True)
class StageSettings:
    """One stage of a query: the query's settings, and its number.

    Attributes:
        query: The query's.
        number: The stage's number in its query.
    """

    query: QuerySettings
    number: int

    @property
    def group(self) -> PartitionGroup:
        """The partition group that the stage runs."""
        return self.query.groups[self.number]

    @cached_property
    def exits(self) -> Mapping[str, int]:
        """By each edge that leaves the group, the stage that it leads to."""
        groups = self.query.groups
        entered = {
            entry.name: stage for stage, group in enumerate(groups) for entry in group.entries
        }
        return {edge.name: entered[edge.name] for edge in self.group.exits}

    def changelog_ends(self, partition: int) -> dict[str, int]:
        """Return, by store of the group, where a task's partition of its changelog ended."""
        return {name: ends.offsets[partition] for name, ends in self._changelogs()}

    def changelog_ids(self) -> dict[str, str]:
        """Return, by store of the group, which topic its changelog was, where topics have ids."""
        return {name: ends.topic_id for name, ends in self._changelogs()}

    def _changelogs(self) -> list[tuple[str, TopicEnds]]:
        names, known = (spec.name for spec in self.group.stores), self.query.changelogs
        return [(name, known[name]) for name in names if name in known]
