"""Rows to write and records to read back in the Kafka tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from devtools.servers.kafka import KafkaBroker
from kstreams.connection import RawRecord
from kstreams.raw_batch import OUTPUT_SCHEMA
from kstreams.record import Headers
from kstreams_kafka.options import Kafka


def output_table(
    topic: str | Sequence[str],
    keys: Sequence[bytes | None],
    *,
    values: Sequence[bytes | None] | None = None,
    first_ms: int = 1_000,
    headers: Mapping[int, Headers] | None = None,
) -> pa.Table:
    """Return the output of a sink: record n has time `first_ms + n`, and headers by its number."""
    count = len(keys)
    topics = [topic] * count if isinstance(topic, str) else list(topic)
    pairs: list[list[dict[str, Any]] | None] = [None] * count
    for row, given in (headers or {}).items():
        pairs[row] = [{"key": name, "value": value} for name, value in given]
    columns = {
        "topic": topics,
        "key": list(keys),
        "value": [b"v%d" % n for n in range(count)] if values is None else list(values),
        "timestamp": [first_ms + n for n in range(count)],
        "headers": pairs,
    }
    return pa.table(columns, schema=OUTPUT_SCHEMA)


def fill(kafka: Kafka, topic: str, partition: int, count: int, *, first_ms: int = 1_000) -> None:
    """Append records n at `first_ms + n`: every third with headers, some with nulls."""
    writer = kafka.writer()
    for n in range(count):
        headers: Headers = (("n", b"%d" % n), ("null", None)) if n % 3 == 0 else ()
        key = None if n % 5 == 0 else b"k%d" % n
        value = None if n % 7 == 0 else b"v%d" % n
        writer.enqueue(topic, partition, key, value, first_ms + n, headers)
    writer.close()


def read_all(connection: Kafka, topic: str) -> list[RawRecord]:
    """Return all records of a topic, partition by partition in offset order."""
    admin, reader = connection.admin(), connection.reader()
    try:
        ends = admin.end_offsets(topic)
        return [
            record
            for partition, end in sorted(ends.items())
            for record in reader.read(topic, partition, 0, end)
        ]
    finally:
        reader.close()
        admin.close()


def sasl(broker: KafkaBroker, mechanism: str = "PLAIN", password: str | None = None) -> Kafka:
    """Return a connection to the broker's SASL listener."""
    return Kafka(
        broker.sasl_bootstrap,
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": broker.username,
            "sasl.password": password or broker.password,
        },
    )
