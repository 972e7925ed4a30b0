"""A `TopicIO` that collects the output of a task, because Spark writes it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from typing_extensions import override

from kstreams.batch.io.sinks import outputs_of
from kstreams.batch.io.topic_io import BatchId, TopicIO
from kstreams.checkpoint.planning.plans import Slice
from kstreams.graph.topology import PartitionGroup
from kstreams.raw_batch import NO_LIMIT
from kstreams.state.log.commits import Output
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records.queues import Queue

__all__ = ("FrameIO",)


class FrameIO(TopicIO):
    """A `TopicIO` for one task in one batch: Spark has read the input, and writes the output.

    Attributes:
        written: The output: a sink's name, and a table of `kstreams.raw_batch.OUTPUT_SCHEMA`.
    """

    def __init__(self) -> None:
        self.written: list[tuple[str, pa.Table]] = []

    @override
    def read(self, slices: Sequence[Slice], *, max_bytes: int = NO_LIMIT) -> list[Queue]:
        """Return no queues: the input comes as messages from Spark."""
        return []

    @override
    def write(
        self, output: TaskOutput, group: PartitionGroup, batch: BatchId
    ) -> tuple[Output, ...]:
        self.written += [(sink, table) for sink, _, table in outputs_of(output, group)]
        return ()
