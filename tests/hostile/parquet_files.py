"""Parquet files with wrong or deeply nested footers."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ("nested", "repeating", "with_row_count")

_MAGIC = b"PAR1"


def repeating(text_bytes: int, rows: int) -> bytes:
    """Return a file with one long text in a dictionary, which is the value of every row."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x" * text_bytes])
    return _written(pa.table({"a": texts}))


def with_row_count(rows: int, told: int) -> bytes:
    """Return a file whose footer has a wrong number of rows."""
    data = _written(pa.table({"a": [str(number) for number in range(rows)]}))
    size = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - size : -8]
    total = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0).total_byte_size
    counts = b"\x16" + _zigzag(total) + b"\x16"
    assert footer.count(counts + _zigzag(rows)) == 1
    lying = footer.replace(counts + _zigzag(rows), counts + _zigzag(told))
    return data[: -8 - size] + _ended(lying)


def nested(depth: int) -> bytes:
    """Return a file without rows, whose schema nests groups."""
    root = b"\x48\x01a\x15" + _zigzag(1) + b"\x00"
    group = b"\x35" + _zigzag(1) + b"\x18\x01a\x15" + _zigzag(1) + b"\x00"
    leaf = b"\x15" + _zigzag(1) + b"\x25" + _zigzag(1) + b"\x18\x01a\x00"
    elements = b"\x19\xfc" + _varint(depth + 2) + root + group * depth + leaf
    return _MAGIC + _ended(b"\x15" + _zigzag(1) + elements + b"\x16\x00\x19\x0c\x00")


def _written(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, store_schema=False)
    return file.getvalue()


def _ended(footer: bytes) -> bytes:
    return footer + len(footer).to_bytes(4, "little") + _MAGIC


def _zigzag(number: int) -> bytes:
    return _varint(number << 1)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
