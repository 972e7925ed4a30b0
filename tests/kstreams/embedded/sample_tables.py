"""Small tables, and the values stored in an embedded log."""

from __future__ import annotations

import pyarrow as pa

from kstreams.embedded.log import EmbeddedLog


def rows(*values: int, timestamp: int = 1_000) -> pa.Table:
    """Make one row for each value: key and value are its text, timestamps count up."""
    texts = [str(value).encode() for value in values]
    return pa.table(
        {
            "timestamp": pa.array(range(timestamp, timestamp + len(values)), pa.int64()),
            "key": pa.array(texts, pa.binary()),
            "value": pa.array(texts, pa.binary()),
        }
    )


def values(log: EmbeddedLog, topic: str, partition: int = 0) -> list[int]:
    """Read all values of a partition; assert that offsets count from 0."""
    found: list[int] = []
    for segment in log.segments(topic, partition):
        table = log.read(segment, columns=("offset", "value"))
        assert table.column("offset").to_pylist() == list(
            range(len(found), len(found) + segment.count)
        )
        found.extend(int(value) for value in table.column("value").to_pylist())
    return found
