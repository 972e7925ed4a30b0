"""What all tasks of a stage are told by the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kstreams.batch.topic_io import TopicIO
from kstreams.connection import TopicEnds
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TaskId
from kstreams.processors.interceptor import Interceptor
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.upkeep import Upkeep

__all__ = ("StageSettings",)


@dataclass(frozen=True)
class StageSettings:
    """What all tasks of a stage are told by the driver.

    Attributes:
        number: The stage's number in its pipeline.
        app: Id of the app.
        incarnation: Id of this checkpoint's life; part of producer and record ids.
        scope: Name of the query's state in the durable log.
        group: The partition group.
        exits: By each edge that leaves the group, the stage that it leads to.
        counts: Number of tasks, by stage.
        width: Number of Spark partitions of each stage; task `t` is in partition `t % width`.
        backend: State backend.
        log: Where deltas and snapshots go.
        io: Reads source topics, and writes sink output.
        interceptors: Around processors.
        changelogs: By store, its changelog and where it ended at the app's start.
        max_bytes: How many bytes of records a worker reads for one batch at most.
        upkeep: When deltas are merged and snapshots made.
    """

    number: int
    app: str
    incarnation: str
    scope: str
    group: PartitionGroup
    exits: Mapping[str, int]
    counts: tuple[int, ...]
    width: int
    backend: StateBackend
    log: ObjectStoreSettings
    io: TopicIO
    max_bytes: int
    interceptors: tuple[Interceptor, ...] = ()
    changelogs: Mapping[str, TopicEnds] = field(default_factory=dict)
    upkeep: Upkeep = field(default_factory=Upkeep)

    def task_key(self, task: TaskId) -> TaskKey:
        """Return the name of a task's state in the durable log."""
        return TaskKey(self.scope, *task)

    def changelog_ends(self, partition: int) -> dict[str, int]:
        """Return, by store of the group, where a task's partition of its changelog ended."""
        return {name: ends.offsets[partition] for name, ends in self._own_changelogs()}

    def changelog_ids(self) -> dict[str, str]:
        """Return, by store of the group, which topic its changelog was, where topics have ids."""
        return {name: ends.topic_id for name, ends in self._own_changelogs()}

    def _own_changelogs(self) -> list[tuple[str, TopicEnds]]:
        names = (spec.name for spec in self.group.stores)
        return [(name, self.changelogs[name]) for name in names if name in self.changelogs]
