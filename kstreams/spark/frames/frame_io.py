"""The output of a task, collected for Spark to write."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from kstreams.batch.io.sinks import outputs_of
from kstreams.checkpoint.planning.plans import Slice
from kstreams.graph.topology import PartitionGroup
from kstreams.raw_batch import NO_LIMIT
from kstreams.state.log.commits import Output
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records.queues import Queue
from kstreams.topic_limits import NO_LIMITS, TopicLimits

__all__ = ("FrameIO",)


class FrameIO:
    """A `TopicIO` for one task in one batch: Spark has read the input, and writes the output.

    Attributes:
        written: The output: a sink's name, and a table of `kstreams.raw_batch.OUTPUT_SCHEMA`.
    """

    def __init__(self) -> None:
        self.written: list[tuple[str, pa.Table]] = []

    def read(self, slices: Sequence[Slice], *, max_bytes: int = NO_LIMIT) -> list[Queue]:
        """Return nothing: what Spark has read comes as messages."""
        return []

    def read_ahead(self) -> None:
        """Do nothing: Spark reads."""

    def limits(self, topic: str) -> TopicLimits:
        """Return none: what Spark's sinks take is not known here."""
        return NO_LIMITS

    def write(
        self,
        output: TaskOutput,
        group: PartitionGroup,
        *,
        producer: str,
        batch: int,
        revision: int = 0,
    ) -> tuple[Output, ...]:
        """Keep a batch's output."""
        self.written += [(sink, table) for sink, _, table in outputs_of(output, group)]
        return ()

    def staged(
        self,
        output: TaskOutput,
        group: PartitionGroup,
        *,
        producer: str,
        batch: int,
        revision: int = 0,
    ) -> tuple[()]:
        """Return nothing: `write` takes all."""
        return ()
