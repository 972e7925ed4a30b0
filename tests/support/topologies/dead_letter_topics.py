"""Topics with dead letters, on any connection."""

from __future__ import annotations

from kstreams.connection import Connection, RawRecord
from kstreams.record import Headers

__all__ = ("ORDERS", "add", "headers_of", "records")

ORDERS = "orders"


def headers_of(
    topic: str = ORDERS, partition: int = 1, offset: int = 0, kind: str = "SerdeError", **more: str
) -> Headers:
    """Return the headers of a dead letter."""
    said = {"class": kind, "topic": topic, "partition": str(partition), "offset": str(offset)}
    return tuple(
        (f"kstreams-error-{name.replace('_', '-')}", text.encode())
        for name, text in {**said, **more}.items()
    )


def add(
    connection: Connection,
    topic: str,
    *rows: tuple[bytes | None, bytes | None, Headers],
    partition: int = 0,
) -> None:
    """Write records at the time 7."""
    writer = connection.writer()
    for key, value, headers in rows:
        writer.write(topic, partition, key, value, 7, headers)
    writer.flush()
    writer.close()


def records(connection: Connection, topic: str = ORDERS) -> list[RawRecord]:
    """Return the committed records of a topic, by partition."""
    reader, admin = connection.reader(), connection.admin()
    found = [
        record
        for partition, end in sorted(admin.end_offsets(topic).items())
        for record in reader.read(topic, partition, 0, end)
    ]
    reader.close()
    admin.close()
    return found
