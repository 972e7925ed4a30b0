"""What one task is made of, whatever runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kstreams.batch.sink_writers import SinkWriters
from kstreams.batch.topic_io import TopicIO
from kstreams.graph.topology import PartitionGroup
from kstreams.processors.interceptor import Interceptor
from kstreams.sink import CommitId
from kstreams.state.stores.table_access import TableAccess
from kstreams.task.node_sampler import NodeSampler
from kstreams.task.run_observer import Watch

__all__ = ("EdgeTarget", "TaskSettings")


@dataclass(frozen=True)
class EdgeTarget:
    """Where an edge leads.

    Attributes:
        stage: Number of the stage.
        tasks: Number of its tasks that get records by the edge: the edge's partition count.
    """

    stage: int
    tasks: int


@dataclass(frozen=True)
class TaskSettings:
    """What one task is made of.

    Attributes:
        group: Its partition group.
        partition: Its partition.
        io: Writes what it gives out, and knows what topics take.
        producer: Id that no other task writes by, in this epoch of the checkpoint.
        edges: By each edge that leaves the group, and each loop that it writes to, where it leads.
        interceptors: Around its processors.
        changelog_ends: By store, where its partition of the store's changelog ended when the
            app was started.
        changelog_ids: By store, the id of its changelog then, where topics have ids.
        partitions: Partition count by input, to check whether keys lie in their own partition; None
            does not check.
        tables: How global tables are read, by the names of their stores.
        keeps_processors: Whether processors stay from batch to batch; else each batch makes
            new ones.
        life: Of the batches, for sinks that are no topics.
        fingerprint: Of the topology, for the same.
        writers: Of these sinks, open from batch to batch.
        watch: Looks on, if anybody does.
        measures: Whether it is to tell how old records are.
        sampler: Tells which nodes take the time; None: nobody asks.
    """

    group: PartitionGroup
    partition: int
    io: TopicIO
    producer: str
    edges: Mapping[str, EdgeTarget] = field(default_factory=dict)
    interceptors: tuple[Interceptor, ...] = ()
    changelog_ends: Mapping[str, int] = field(default_factory=dict)
    changelog_ids: Mapping[str, str] = field(default_factory=dict)
    partitions: Mapping[str, int] | None = None
    tables: Mapping[str, TableAccess] = field(default_factory=dict)
    keeps_processors: bool = False
    life: str = ""
    fingerprint: str = ""
    writers: SinkWriters = field(default_factory=SinkWriters)
    watch: Watch | None = None
    measures: bool = False
    sampler: NodeSampler | None = None

    def commits(self, batch: int, revision: int) -> dict[str, CommitId]:
        """Return what names the task's part of a batch, by sink.

        Args:
            batch: Number of the batch.
            revision: Of its plan, if the input is not what it was in the first one.
        """
        return {
            node.name: CommitId(
                self.life, node.name, self.partition, batch, revision, self.fingerprint
            )
            for node in self.group.sinks
        }
