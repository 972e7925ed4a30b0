"""Addressed messages of bytes between driver and tasks.

A message is a JSON head and a body. One message has many records, so Spark's shuffle processes few
messages in a batch, for any number of records.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass

import pyarrow as pa

from kstreams.batch.messages.edge_records import EdgeRecords
from kstreams.batch.messages.oversized_batch import Refusal
from kstreams.batch.messages.task_call import TaskCall
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.errors import ExecutionError
from kstreams.state.log.fields import Fields, checked_integer

__all__ = ("DRIVER", "Content", "Envelope")

DRIVER = -1
"""The stage number of messages to the driver."""

Content = TaskCall | EdgeRecords | TaskStatus | Refusal
"""The types of a message's content."""

_KINDS: dict[type[Content], str] = {
    TaskCall: "call",
    EdgeRecords: "records",
    TaskStatus: "status",
    Refusal: "refusal",
}
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True)
class Envelope:
    """A message to one task of a stage, or to the driver.

    Attributes:
        stage: The number of the receiving stage, or `DRIVER`.
        task: The partition of the receiving task; for the driver, of the sending task.
        content: The call, records, refusal or status.
    """

    stage: int
    task: int
    content: Content

    def pack(self) -> bytes:
        """Return the message as bytes."""
        content = self.content
        head = [_KINDS[type(content)], self.stage, self.task, content.to_json()]
        text = json.dumps(head).encode()
        body = content.body if isinstance(content, EdgeRecords) else b""
        return b"".join((_LENGTH.pack(len(text)), text, memoryview(body)))

    @classmethod
    def unpack(cls, payload: bytes | memoryview) -> Envelope:
        """Parse the result of `pack`.

        Raises:
            ExecutionError: The bytes are damaged, or of another version of the library.
        """
        try:
            (length,) = _LENGTH.unpack_from(payload)
            end = _LENGTH.size + length
            kind, stage, task, fields = json.loads(str(payload[_LENGTH.size : end], "utf-8"))
            return cls(
                checked_integer(stage, "a stage", least=DRIVER),
                checked_integer(task, "a task"),
                _content(kind, Fields(fields), payload, end),
            )
        except (ValueError, TypeError, IndexError, struct.error) as exc:
            raise ExecutionError(
                f"a message between driver and workers cannot be read: {exc}",
                hint="all machines must run the same version of kstreams.",
            ) from exc


def _content(kind: object, fields: Fields, payload: bytes | memoryview, body_start: int) -> Content:
    match kind:
        case "call":
            return TaskCall.from_json(fields)
        case "records":
            return EdgeRecords.from_json(fields, pa.py_buffer(payload).slice(body_start))
        case "status":
            return TaskStatus.from_json(fields)
        case "refusal":
            return Refusal.from_json(fields)
        case _:
            raise ValueError(f"unknown kind of message: {str(kind)[:40]!r}")
