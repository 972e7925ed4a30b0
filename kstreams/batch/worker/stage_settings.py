"""The settings of a query's tasks: those of the app, of the query, and of their stage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from kstreams.batch.io.topic_io import TopicIO
from kstreams.batch.worker.task_settings import EdgeTarget
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import OpenedQuery
from kstreams.connection import TopicEnds
from kstreams.errors import CompileError
from kstreams.graph.checks.partitions import Uneven
from kstreams.graph.named_topics import read_topics, written_topics
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TaskId
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.loop_objects import LoopPart
from kstreams.state.log.staged import Staged

__all__ = ("QuerySettings", "StageSettings")


@dataclass(frozen=True)
class QuerySettings:
    """The settings of one query.

    Attributes:
        app: The settings of the app, as returned by `AppSettings.for_workers`.
        epoch: The epoch of the query, a unique id of its batches; part of producer and record ids.
        state_name: The name of the query's state in the durable log.
        log: The durable log.
        groups: The partition groups, in the order of their stages. Only the driver has the groups:
            a stage gets its own group, so the sent data grows with the number of stages, not with
            its square.
        counts: The number of tasks, by stage.
        width: The number of slots of each stage; task `t` of a later stage is in slot `t % width`.
        io: Reads source topics, and writes the output of sinks.
        changelogs: By store, the topic id and end offsets of its changelog at the start of the app.
        checkpoint_id: The checkpoint id, which is also the prefix of copies of global tables.
        fingerprint: The fingerprint of the topology, which is stored with its output.
        uneven: Inputs and stores with fewer partitions than their group has tasks.
    """

    app: AppSettings
    epoch: str
    state_name: str
    log: ObjectStoreSettings
    groups: tuple[PartitionGroup, ...]
    counts: tuple[int, ...]
    width: int
    io: TopicIO
    changelogs: Mapping[str, TopicEnds] = field(default_factory=dict)
    checkpoint_id: str = ""
    fingerprint: str = ""
    uneven: Uneven = field(default_factory=Uneven)

    @classmethod
    def of(
        cls,
        app: AppSettings,
        opened: OpenedQuery,
        io: TopicIO,
        tasks: Mapping[str, int],
        *,
        width: int,
        fingerprint: str,
        changelogs: Mapping[str, TopicEnds] = MappingProxyType({}),
    ) -> QuerySettings:
        """Return the settings of an opened query.

        Args:
            app: The settings of the app, as returned by `AppSettings.for_workers`.
            opened: The checkpoint of the query.
            io: Reads source topics, and writes the output of sinks.
            tasks: Number of tasks by group.
            width: The maximum number of slots of a stage.
            fingerprint: The fingerprint of the topology.
            changelogs: By store, the topic id and end offsets of its changelog at the start of the
                app.
        """
        counts = tuple(tasks[group.name] for group in opened.groups)
        return cls(
            app,
            epoch=opened.epoch,
            state_name=opened.state_name,
            log=opened.log,
            groups=opened.groups,
            counts=counts,
            width=min(max(counts), width),
            io=io,
            changelogs=changelogs,
            checkpoint_id=opened.checkpoint.checkpoint_id,
            fingerprint=fingerprint,
            uneven=opened.checkpoint.uneven,
        )

    def edges(self, exits: Mapping[str, int]) -> dict[str, EdgeTarget]:
        """Return the target of each edge and loop.

        Args:
            exits: The number of the stage that an edge or loop leads to, by its name.
        """
        return {
            edge: EdgeTarget(stage, self.uneven.of_input(edge, self.counts[stage]))
            for edge, stage in exits.items()
        }

    @property
    def name(self) -> str:
        """The name of the query, which is the name of its first group."""
        return self.groups[0].name

    @property
    def commit_epoch(self) -> str:
        """The epoch in commit ids of sinks, which is unique among all queries and checkpoints."""
        return f"{self.epoch}/{self.state_name}"

    @property
    def publisher(self) -> str:
        """The id under which the query publishes staged output; it begins with the app id."""
        return f"{self.state_name}/{self.epoch}"

    @property
    def first_topic(self) -> str:
        """The alphabetically first topic that the query reads, or else the first that it writes.

        Empty if the query reads no topic, and records determine the topics that it writes.
        """
        read = [topic for _, topic in read_topics(self.groups)]
        return min(read or [topic for _, topic in written_topics(self.groups)], default="")

    def staged(self, parts: Iterable[LoopPart]) -> Staged:
        """Return the query's staged output of a batch, for publishing.

        Args:
            parts: The parts of the durable log in which tasks have staged output.

        Raises:
            CompileError: There is staged output, and the query has no topic with a fixed name.
        """
        topic, made = self.first_topic, tuple(parts)
        if made and not topic:
            raise CompileError(
                "exactly-once results need a topic with a fixed name, but the query reads no "
                "topic, and chooses its output topics for each record",
                hint="add a sink with a Topic, or a source with on_error=DeadLetter(topic).",
            )
        return Staged.of(self.publisher, topic, made)

    def stages(self) -> tuple[StageSettings, ...]:
        """Return the settings of each stage."""
        stages = self.stage_of_entries()
        return tuple(
            StageSettings(
                replace(self, groups=(), changelogs=self._changelogs_of(group)),
                number,
                group,
                {name: stages[name] for name in _leads_to(group)},
            )
            for number, group in enumerate(self.groups)
        )

    def stage_of_entries(self) -> dict[str, int]:
        """Return the number of the stage that each edge or loop leads to, by name."""
        return {
            entry.name: number
            for number, group in enumerate(self.groups)
            for entry in group.from_tasks
        }

    def loops_by_task(
        self, parts: Iterable[LoopPart]
    ) -> dict[tuple[int, int], tuple[LoopPart, ...]]:
        """Return the records in loops, by stage number and receiving task."""
        stages = self.stage_of_entries()
        found: dict[tuple[int, int], list[LoopPart]] = {}
        for part in parts:
            found.setdefault((stages[part.loop], part.task), []).append(part)
        return {place: tuple(found[place]) for place in sorted(found)}

    def _changelogs_of(self, group: PartitionGroup) -> dict[str, TopicEnds]:
        names = (spec.name for spec in group.stores)
        return {name: self.changelogs[name] for name in names if name in self.changelogs}

    def task_key(self, task: TaskId) -> TaskKey:
        """Return the name of a task's state in the durable log."""
        return TaskKey(self.state_name, *task)

    def producer(self, task: TaskId) -> str:
        """Return the producer id of a task."""
        return f"{self.epoch}/{task}"

    def producers(self) -> list[str]:
        """Return the producer ids of all tasks."""
        return [
            self.producer(TaskId(group.name, number))
            for group, count in zip(self.groups, self.counts, strict=True)
            for number in range(count)
        ]


@dataclass(frozen=True)
class StageSettings:
    """The settings of one stage of a query, for its tasks.

    Attributes:
        query: The settings of the query, without groups and changelogs of other stages.
        number: The number of the stage.
        group: The partition group that the stage runs.
        exits: The number of the target stage, by outgoing edge and by loop.
    """

    query: QuerySettings
    number: int
    group: PartitionGroup
    exits: Mapping[str, int]

    def changelog_ends(self, partition: int) -> dict[str, int]:
        """Return the end of a task's partition of each changelog at the app's start, by store."""
        return {name: ends.offsets[partition] for name, ends in self.query.changelogs.items()}

    def changelog_ids(self) -> dict[str, str]:
        """Return the topic id of each changelog at the app's start, by store; empty without ids."""
        return {name: ends.topic_id for name, ends in self.query.changelogs.items()}


def _leads_to(group: PartitionGroup) -> list[str]:
    """Return the names of the edges and loops that a group writes to."""
    return [*(edge.name for edge in group.exits), *(end.loop.name for end in group.loop_ends)]
