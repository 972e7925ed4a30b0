"""Records of arbitrary bytes, sent to a broker without a client that would reject them.

Builds a record batch of format 2 and sends it in a Produce request. With it, tests can write
records that clients in other languages write: header names that are not UTF-8, arbitrary
timestamps, transactions that never end.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass

_PRODUCE, _VERSION = 0, 8
_WAIT_S = 20.0


@dataclass(frozen=True)
class RawBytes:
    """A record with the exact bytes for the broker; header names are bytes, too."""

    key: bytes | None = b"k"
    value: bytes | None = b"v"
    timestamp: int = 1_000
    headers: Sequence[tuple[bytes, bytes | None]] = ()


def produce_raw(
    bootstrap: str, topic: str, records: Sequence[RawBytes], *, partition: int = 0
) -> int:
    """Append records in one batch, and return the offset of the first record.

    Raises:
        ValueError: The broker rejects the batch; the message contains Kafka's error code.
    """
    batch = _batch(records)
    body = struct.pack(">hhi", _PRODUCE, _VERSION, 1) + _text("raw")
    body += struct.pack(">hhii", -1, -1, int(_WAIT_S * 1_000), 1) + _text(topic)
    body += struct.pack(">iii", 1, partition, len(batch)) + batch
    host, _, port = bootstrap.partition(":")
    with socket.create_connection((host, int(port)), _WAIT_S) as connection:
        connection.sendall(struct.pack(">i", len(body)) + body)
        with connection.makefile("rb") as answers:
            (size,) = struct.unpack(">i", answers.read(4))
            answer = answers.read(size)
    begin = 8 + 2 + len(topic.encode()) + 4  # correlation, topics, name, partitions
    _, error, offset = struct.unpack_from(">ihq", answer, begin)
    if error:
        raise ValueError(f"Kafka's error {error}")
    return int(offset)


def _batch(records: Sequence[RawBytes]) -> bytes:
    first, highest = records[0].timestamp, max(record.timestamp for record in records)
    data = b"".join(_record(record, n, first) for n, record in enumerate(records))
    last = len(records) - 1
    checked = struct.pack(">hiqqqhii", 0, last, first, highest, -1, -1, -1, len(records)) + data
    return struct.pack(">qiibI", 0, len(checked) + 9, -1, 2, _crc32c(checked)) + checked


def _record(record: RawBytes, number: int, first: int) -> bytes:
    parts = [b"\0", _varint(record.timestamp - first), _varint(number)]
    parts += [_sized(record.key), _sized(record.value), _varint(len(record.headers))]
    parts += [_sized(part) for pair in record.headers for part in pair]
    data = b"".join(parts)
    return _varint(len(data)) + data


def _sized(data: bytes | None) -> bytes:
    return _varint(-1) if data is None else _varint(len(data)) + data


def _varint(number: int) -> bytes:
    """Return a number as Kafka's signed varint."""
    rest, found = (number << 1) ^ (number >> 63), bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*found, rest])


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def _table() -> list[int]:
    found = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        found.append(byte)
    return found


_CRC = _table()


def _crc32c(data: bytes) -> int:
    found = 0xFFFFFFFF
    for byte in data:
        found = _CRC[(found ^ byte) & 0xFF] ^ (found >> 8)
    return found ^ 0xFFFFFFFF
