"""What travels between stages: messages of bytes, Arrow inside.

A payload is a JSON header and a body; a whole queue of records is one message, so that
Spark's shuffle touches a handful of them a batch, whatever the number of records.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from kstreams.task.queues import Queue

__all__ = ("DRIVER", "Envelope")

DRIVER = -1
"""The stage number of messages to the driver."""

_LENGTH = struct.Struct(">I")


@dataclass(frozen=True)
class Envelope:
    """A message to one task of a stage, or to the driver.

    Attributes:
        kind: `call` (what to read, if anything), `queue` (records), `state` (the pointer
            of what was committed), `status` or `refusal` (the batch is too large).
        stage: Number of the stage it is for, `DRIVER` for the driver.
        task: Partition of the task it is for.
        header: The rest of the message, as JSON.
        body: Arrow IPC stream of a queue's table.
    """

    kind: str
    stage: int
    task: int
    header: Mapping[str, Any] = field(default_factory=dict)
    body: pa.Buffer | bytes = b""

    def pack(self) -> bytes:
        """Return the payload."""
        head = json.dumps([self.kind, self.stage, self.task, self.header]).encode()
        return b"".join((_LENGTH.pack(len(head)), head, memoryview(self.body)))

    @classmethod
    def unpack(cls, payload: bytes) -> Envelope:
        """Read what `pack` returned."""
        (length,) = _LENGTH.unpack_from(payload)
        kind, stage, task, header = json.loads(payload[4 : 4 + length])
        return cls(kind, stage, task, header, pa.py_buffer(payload).slice(4 + length))

    @classmethod
    def of_queue(cls, queue: Queue, *, stage: int, task: int, wall_ms: int | None) -> Envelope:
        """Wrap a queue."""
        header = {
            "entry": queue.entry,
            "topic": queue.topic,
            "partition": queue.partition,
            "wall": wall_ms,
        }
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, queue.table.schema) as writer:
            writer.write_table(queue.table)
        return cls("queue", stage, task, header, sink.getvalue())

    def queue(self) -> Queue:
        """Unwrap a queue; its columns are views of the payload."""
        with pa.ipc.open_stream(self.body) as reader:
            table = reader.read_all()
        head = self.header
        return Queue(head["entry"], head["topic"], head["partition"], table)
