"""Messages between Spark operators: rows of bytes, each with a grouping key.

A message has many records, because Spark's cost per row is high.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructField, StructType

__all__ = ("MESSAGE", "MESSAGE_SCHEMA", "RECORD", "Message", "message_table")

MESSAGE = StructType(
    [
        StructField("key", IntegerType()),
        StructField("wall", LongType()),
        StructField("payload", BinaryType()),
    ]
)
"""The columns of messages, for Spark; to parse a text, Connect would need an active session."""

RECORD = StructType([StructField("record", StringType())])
"""The state of a task in Spark: its `TaskRecord`."""

MESSAGE_SCHEMA = pa.schema([("key", pa.int32()), ("wall", pa.int64()), ("payload", pa.binary())])
"""The columns of messages, for Arrow."""


class Message(NamedTuple):
    """A message with its destination.

    Attributes:
        key: The Spark grouping key of the task that processes or passes on the message.
        wall_ms: Spark's wall time of the batch, ms since the epoch; equal if the batch is repeated.
        payload: An `Envelope`.
    """

    key: int
    wall_ms: int
    payload: bytes


def message_table(messages: Iterable[Message]) -> pa.RecordBatch:
    """Return messages as a batch of `MESSAGE_SCHEMA`."""
    columns = list(zip(*messages, strict=True)) or [(), (), ()]
    arrays = [
        pa.array(column, field.type) for column, field in zip(columns, MESSAGE_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=MESSAGE_SCHEMA)
