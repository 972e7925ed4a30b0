"""Which query and batch a Python worker works for, as Spark tells it."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import TaskContext

from kstreams.errors import ExecutionError

__all__ = ("SparkBatch", "present_partition")

_QUERY = "sql.streaming.queryId"
_BATCH = "streaming.sql.batchId"
_RUN = "spark.jobGroup.id"
_WIDTH = "spark.sql.shuffle.partitions"


@dataclass(frozen=True)
class SparkBatch:
    """A batch of a streaming query.

    Attributes:
        query: Id of the query: it lives as long as its checkpoint.
        run: Id of this start of the query.
        number: Of the batch; the same if it comes again.
        width: How many shuffle partitions Spark has in it; as the checkpoint says, whatever the
            session says now. None where Spark does not tell.
    """

    query: str
    run: str
    number: int
    width: int | None

    @classmethod
    def present(cls) -> SparkBatch | None:
        """Return the batch of this worker's task; None if it is of no streaming query."""
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(_QUERY)
        if context is None or query is None:
            return None
        width = context.getLocalProperty(_WIDTH)
        return cls(
            query,
            context.getLocalProperty(_RUN) or "",
            int(context.getLocalProperty(_BATCH) or 0),
            None if width is None else int(width),
        )

    @classmethod
    def required(cls) -> SparkBatch:
        """Return the batch of this worker's task.

        Raises:
            ExecutionError: It is of no streaming query, as far as Spark tells: its state would
                begin anew.
        """
        found = cls.present()
        if found is None:
            raise ExecutionError(
                "Spark does not tell which streaming query and batch a task runs for",
                hint="On Spark Connect that is so within foreachBatch: write by a sink of Spark's.",
            )
        return found


def present_partition() -> int:
    """Return the number of the Spark partition that this worker's task runs."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()
