"""Records sent from one stage to the next: Arrow bytes, with many records in a message."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kstreams.state.log.fields import Fields
from kstreams.task.records.queues import Queue

__all__ = ("EdgeRecords",)

_MAX_BYTES = 16 * 1024 * 1024
"""The approximate maximum bytes of a message: a Spark row holds less than 2 GiB."""


@dataclass(frozen=True)
class EdgeRecords:
    """Records of a task for a task of a later stage.

    Attributes:
        entry: The name of the repartition node through which the records enter the later stage.
        topic: The name of the edge.
        partition: The number of the sending task.
        body: The Arrow IPC stream of a table of `kstreams.raw_batch.INPUT_SCHEMA`.
    """

    entry: str
    topic: str
    partition: int
    body: pa.Buffer

    @classmethod
    def of(cls, queue: Queue) -> Iterator[EdgeRecords]:
        """Divide a queue into messages of limited size; an empty queue yields no message."""
        table = queue.table
        count = max(1, -(-table.nbytes // _MAX_BYTES))
        rows = -(-table.num_rows // count)
        for start in range(0, table.num_rows, rows):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table.slice(start, rows))
            yield cls(queue.entry, queue.topic, queue.partition, sink.getvalue())

    def queue(self) -> Queue:
        """Return the records; their columns are views of the message."""
        with pa.ipc.open_stream(self.body) as reader:
            return Queue(self.entry, self.topic, self.partition, reader.read_all())

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON-compatible data, without the body."""
        return {"entry": self.entry, "topic": self.topic, "partition": self.partition}

    @classmethod
    def from_json(cls, fields: Fields, body: pa.Buffer) -> EdgeRecords:
        """Parse the result of `to_json`; raises a `ValueError` that describes the problem."""
        return cls(fields.text("entry"), fields.text("topic"), fields.integer("partition"), body)
