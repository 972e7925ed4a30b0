"""Unpacks output messages into rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kstreams.batch.messages.edge_records import EdgeRecords
from kstreams.batch.messages.envelope import Envelope
from kstreams.raw_batch import HEADERS_TYPE
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.worker import drop_spark_archives, leave_quietly, shorten_collections

__all__ = ("RESULT", "Unpack")

RESULT = (
    "sink string, topic string, key binary, value binary, timestamp timestamp, "
    "headers array<struct<key: string, value: binary>>"
)
"""Columns of results, for Spark."""

_SCHEMA = pa.schema(
    [
        ("sink", pa.string()),
        ("topic", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("headers", HEADERS_TYPE),
    ]
)


@dataclass(frozen=True)
class Unpack:
    """The `mapInArrow` function that unpacks output messages into rows.

    Attributes:
        errors: The channel of errors to the driver.
    """

    errors: ErrorChannel

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the messages of one Spark partition."""
        try:
            leave_quietly()
            drop_spark_archives()
            for batch in batches:
                for payload in batch.column("payload"):
                    yield from _rows(payload.as_buffer())
            shorten_collections()
        except GeneratorExit:  # Spark wants no more of it
            raise
        except BaseException as exc:  # noqa: BLE001  # all of it must reach the driver, typed
            raise self.errors.wrap(exc) from None


def _rows(payload: pa.Buffer) -> Iterator[pa.RecordBatch]:
    records = Envelope.unpack(payload.to_pybytes()).content
    if not isinstance(records, EdgeRecords):
        return
    table = records.queue().table
    micros = pc.multiply(table.column("timestamp"), 1000)
    columns = {
        "sink": pa.repeat(pa.scalar(records.entry), table.num_rows),
        "topic": table.column("topic"),
        "key": table.column("key"),
        "value": table.column("value"),
        "timestamp": micros.cast(pa.timestamp("us", tz="UTC")),
        "headers": table.column("headers"),
    }
    rows = pa.table(columns).cast(_SCHEMA)
    yield from rows.combine_chunks().to_batches()
