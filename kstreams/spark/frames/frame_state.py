"""The committed state of a streaming query on DataFrames, as a source of views."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import StructType

from kstreams.errors import CheckpointMismatchError, NoCheckpointError, StoreError
from kstreams.graph.topology import Topology, parameters_in
from kstreams.ids import TaskId
from kstreams.quoting import one_line
from kstreams.spark.frames.layout import check_parameters
from kstreams.spark.frames.task_keys import task_of
from kstreams.spark.frames.task_record import TaskRecord
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.views.place import QueryVersion

__all__ = ("FrameState",)

_SHOWN = 300


@dataclass(frozen=True)
class FrameState:
    """The state of a `transform_frames` query, for a `View`.

    Spark's checkpoint determines the current version: an uncommitted batch is never visible. Each
    check for a newer version needs a few small Spark jobs, so set `max_age` or `advance_every` on
    views. The stores themselves are read from the durable log, without Spark.

    Attributes:
        session: Reads Spark's checkpoint; may be a session of Spark Connect.
        checkpoint: The `checkpointLocation` of the query.
        topology: The topology of the query.
        log: The log of the state, with settings for this process.

    Source: Spark's data sources `state-metadata` and `statestore`.
    """

    session: SparkSession
    checkpoint: str
    topology: Topology
    log: ObjectStoreSettings

    @property
    def name(self) -> str:
        """The name of the state for error messages."""
        return f"{self.topology.name} at {self.checkpoint}"

    def batches(self) -> list[int]:
        """Return the committed batches whose state Spark retains, in ascending order.

        Raises:
            NoCheckpointError: There is no checkpoint of a query with state.
        """
        operators = self._operators()
        first = max(0, *(row["minBatchId"] for row in operators))
        last = min(row["maxBatchId"] for row in operators)
        return list(range(first, last + 1))

    def committed(self, batch: int) -> QueryVersion:
        """Return the state as of a committed batch.

        Raises:
            StoreError: Spark does not retain the batch.
            CheckpointMismatchError: The checkpoint belongs to another topology.
            StateCorruptError: The state in the checkpoint is not that of a topology.
        """
        try:
            frames = [self._records(row, batch) for row in self._operators()]
            rows = [row for frame in frames if frame is not None for row in frame.collect()]
        except PySparkException as exc:
            raise StoreError(
                f"Spark cannot read the state of {self.name!r} as of batch {batch}: "
                f"{one_line(str(exc), _SHOWN)}",
                hint="choose a later batch; Spark retains the state of as many batches as "
                "spark.sql.streaming.minBatchesToRetain states.",
            ) from exc
        return self._version([(row["key"], TaskRecord.from_json(row["record"])) for row in rows])

    def _version(self, records: Sequence[tuple[int, TaskRecord]]) -> QueryVersion:
        tasks: dict[str, int] = {}
        for layout in {record.layout for _, record in records}:
            found = json.loads(layout)
            if found["shape"] != self.topology.fingerprint():
                raise CheckpointMismatchError(
                    f"the checkpoint at {self.checkpoint!r} belongs to another topology than "
                    f"{self.topology.name!r}: its sources, edges or stores differ",
                    hint="Pass the topology that the query runs.",
                )
            check_parameters(layout, parameters_in(self.topology.shape()))
            tasks |= found["tasks"]
        pointers = {
            TaskId(record.group, task_of(key)): record.pointer
            for key, record in records
            if record.pointer is not None
        }
        return QueryVersion(max(record.wall_ms for _, record in records), tasks, pointers)

    def _records(self, operator: Row, batch: int) -> DataFrame | None:
        """Return the task records of an operator; None if it is not an operator of a topology."""
        reader = self.session.read.format("statestore").option("batchId", batch)
        reader = reader.option("operatorId", operator["operatorId"])
        if operator["operatorName"].startswith("transformWithState"):
            if '"task"' not in (operator["operatorProperties"] or ""):
                return None
            reader = reader.option("stateVarName", "task")
        frame = reader.load(self.checkpoint)
        kinds = {field.name: field.dataType for field in frame.schema.fields}
        for path in (("value",), ("value", "groupState")):
            kind: object = kinds.get(path[0])
            for name in path[1:]:
                kind = _field(kind, name)
            if _field(kind, "record") is not None:
                return frame.selectExpr("key.key AS key", f"{'.'.join(path)}.record AS record")
        return None

    def _operators(self) -> list[Row]:
        try:
            found = self.session.read.format("state-metadata").load(self.checkpoint).collect()
        except PySparkException as exc:
            raise self._missing(f": {one_line(str(exc), _SHOWN)}") from exc
        if not found:
            raise self._missing("")
        return found

    def _missing(self, why: str) -> NoCheckpointError:
        return NoCheckpointError(
            f"Spark finds no state of a query at {self.checkpoint!r}{why}",
            hint="Pass the checkpointLocation of a query that has started its first batch.",
        )


def _field(kind: object, name: str) -> object:
    """Return the type of a struct's field; None without such a field."""
    if not isinstance(kind, StructType) or name not in kind.fieldNames():
        return None
    return kind[name].dataType
