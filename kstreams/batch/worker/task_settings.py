"""The settings of one task, for Spark's workers and the test driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kstreams.batch.io.sink_writers import SinkWriters
from kstreams.batch.io.topic_io import TopicIO
from kstreams.graph.topology import PartitionGroup
from kstreams.processors.interceptor import Interceptor
from kstreams.sink import CommitId
from kstreams.state.stores.table_access import TableAccess
from kstreams.task.node_sampler import NodeSampler
from kstreams.task.run_observer import Watch

__all__ = ("EdgeTarget", "TaskSettings")


@dataclass(frozen=True)
class EdgeTarget:
    """The target of an edge.

    Attributes:
        stage: The number of the stage.
        tasks: The number of the stage's tasks that get records by the edge: the edge's partition
            count.
    """

    stage: int
    tasks: int


@dataclass(frozen=True)
class TaskSettings:
    """The settings of one task.

    Attributes:
        group: The partition group that the task runs.
        partition: The number of the partition that the task processes.
        io: Writes the output, and returns the limits of topics.
        producer: A producer id that is unique in this epoch of the checkpoint.
        edges: The target of each outgoing edge and loop.
        interceptors: The interceptors of its processors.
        changelog_ends: By store, the end of the task's partition of the changelog at the start of
            the app.
        changelog_ids: By store, the topic id of its changelog at the start of the app, if topics
            have ids.
        partitions: The partition count of each input, to check the partitions of keys; None
            disables the check.
        tables: The readers of global tables, by the names of their stores.
        keeps_processors: Whether processors stay from batch to batch; otherwise each batch creates
            new ones.
        epoch: The epoch of the batches, for sinks other than topics.
        fingerprint: The fingerprint of the topology, for sinks other than topics.
        writers: The writers of sinks other than topics; a writer stays open from batch to batch.
        watch: The observer of the task; None without an observer.
        measures: Whether to report the ages of records.
        sampler: Samples the time of nodes; None: no samples.
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
    epoch: str = ""
    fingerprint: str = ""
    writers: SinkWriters = field(default_factory=SinkWriters)
    watch: Watch | None = None
    measures: bool = False
    sampler: NodeSampler | None = None

    def commits(self, batch: int, revision: int) -> dict[str, CommitId]:
        """Return the commit id of the task in a batch, by sink.

        Args:
            batch: The number of the batch.
            revision: The plan revision if the input differs from that of the first plan; else 0.
        """
        return {
            node.name: CommitId(
                self.epoch, node.name, self.partition, batch, revision, self.fingerprint
            )
            for node in self.group.sinks
        }
