"""The rows of a small segment as an Arrow record batch with a checksum."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pyarrow as pa

from kstreams.files import read_small
from kstreams.raw_batch import STORED_SCHEMA

__all__ = ("MOST_BYTES", "encode", "read", "stored_bytes")

MOST_BYTES = 64 * 1024
"""The maximum bytes of the rows of a small segment in memory."""

_HEAD = struct.Struct("<4sI?7x")
"""The magic bytes, the checksum of all bytes after it, and whether the rows have headers."""
_MAGIC = b"KSR1"
_CHECKED_FROM = 8
_MOST_FILE_BYTES = 2 * MOST_BYTES + 8 * 1024
"""Arrow pads each buffer, and adds metadata."""

_WITH_HEADERS = STORED_SCHEMA
_PLAIN = STORED_SCHEMA.remove(STORED_SCHEMA.get_field_index("headers"))


def encode(table: pa.Table) -> pa.Buffer:
    """Return the content of a file.

    Args:
        table: Rows of `STORED_SCHEMA`, with or without `headers`, of at most `MOST_BYTES`.
    """
    batch = table.combine_chunks().to_batches()[0]
    body = memoryview(batch.serialize())
    has_headers = "headers" in table.schema.names
    rest = _HEAD.pack(b"", 0, has_headers)[_CHECKED_FROM:]
    checksum = zlib.crc32(body, zlib.crc32(rest))
    return pa.py_buffer(b"".join((_HEAD.pack(_MAGIC, checksum, has_headers), body)))


def read(path: Path, rows: int) -> pa.Table:
    """Return the rows of a file, with all columns of `STORED_SCHEMA`.

    Args:
        path: The file.
        rows: Number of rows that the file must have.

    Raises:
        OSError: The file cannot be opened, or is larger than the file of a small segment.
        ValueError: The file has no rows of a small segment, another number of rows, or a wrong
            checksum.
    """
    data = read_small(path, _MOST_FILE_BYTES)
    if len(data) < _HEAD.size:
        raise ValueError("the file is too short")
    magic, checksum, has_headers = _HEAD.unpack_from(data)
    content = memoryview(data)
    if magic != _MAGIC:
        raise ValueError(f"the file begins with {magic!r}, expected {_MAGIC!r}")
    if zlib.crc32(content[_CHECKED_FROM:]) != checksum:
        raise ValueError("the checksum is wrong")
    schema = _WITH_HEADERS if has_headers else _PLAIN
    try:
        batch = pa.ipc.read_record_batch(pa.py_buffer(content[_HEAD.size :]), schema)
    except EOFError as exc:
        raise ValueError(f"the file has no record batch: {exc}") from exc
    batch.validate(full=True)  # a checksum does not protect against intent
    if batch.num_rows != rows:
        raise ValueError(f"the file has {batch.num_rows} rows, expected {rows}")
    if not has_headers:
        headers = pa.nulls(rows, STORED_SCHEMA.field("headers").type)
        batch = pa.record_batch([*batch.columns, headers], schema=STORED_SCHEMA)
    return pa.Table.from_batches([batch])


def stored_bytes(path: Path) -> int:
    """Return the approximate number of bytes of a file's rows in memory.

    Raises:
        OSError: The file does not exist.
    """
    return path.stat().st_size
