"""Files of small segments that are damaged, or written with intent to harm, are rejected."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kstreams.embedded import small_rows
from kstreams.embedded.rows import checked
from kstreams.raw_batch import STORED_SCHEMA
from tests.kstreams.embedded.sample_tables import rows as sample

PLAIN = pa.schema([STORED_SCHEMA.field(name) for name in ("timestamp", "key", "value")])


def file_of(body: bytes, *, has_headers: bool = False, magic: bytes = b"KSR1") -> bytes:
    """Return a file with a correct checksum."""
    rest = struct.pack("<?7x", has_headers) + body
    return struct.pack("<4sI", magic, zlib.crc32(rest)) + rest


def body_of(batch: pa.RecordBatch) -> bytes:
    return bytes(batch.serialize().to_pybytes())


@pytest.fixture
def batch() -> pa.RecordBatch:
    table = checked(sample(*range(3)), topic="t", partition=0).drop_columns(["headers"])
    return table.combine_chunks().to_batches()[0]


def read(path: Path, content: bytes) -> pa.Table:
    path.write_bytes(content)
    return small_rows.read(path, 3)


def test_file_with_correct_checksum_is_read(tmp_path: Path, batch: pa.RecordBatch) -> None:
    found = read(tmp_path / "x", file_of(body_of(batch)))
    assert found.schema == STORED_SCHEMA
    assert found["value"].to_pylist() == batch["value"].to_pylist()


def test_encoded_file_has_documented_layout(tmp_path: Path, batch: pa.RecordBatch) -> None:
    encoded = small_rows.encode(pa.Table.from_batches([batch])).to_pybytes()
    assert encoded == file_of(body_of(batch))


def test_offsets_beyond_data_of_column_are_rejected(tmp_path: Path, batch: pa.RecordBatch) -> None:
    body = body_of(batch)
    offsets = np.frombuffer(batch["value"].buffers()[1], np.int32, 4).tobytes()
    wild = np.array([0, 1, 1_000_000, 2_000_000], np.int32).tobytes()
    assert offsets in body
    with pytest.raises(ValueError, match="offset"):
        read(tmp_path / "x", file_of(body.replace(offsets, wild)))


def test_batch_of_other_schema_is_rejected(tmp_path: Path, batch: pa.RecordBatch) -> None:
    other = pa.record_batch({"timestamp": batch["timestamp"]})
    with pytest.raises((ValueError, pa.ArrowException, OSError)):
        read(tmp_path / "x", file_of(body_of(other)))


def test_batch_with_other_number_of_rows_is_rejected(tmp_path: Path, batch: pa.RecordBatch) -> None:
    with pytest.raises(ValueError, match="has 2 rows, expected 3"):
        read(tmp_path / "x", file_of(body_of(batch.slice(0, 2))))


def test_headers_flag_without_headers_column_is_rejected(
    tmp_path: Path, batch: pa.RecordBatch
) -> None:
    with pytest.raises((ValueError, pa.ArrowException, OSError)):
        read(tmp_path / "x", file_of(body_of(batch), has_headers=True))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "too short", id="empty"),
        pytest.param(b"KSR1" + bytes(20), "checksum", id="zeros"),
        pytest.param(file_of(b"", magic=b"PAR1"), "begins with b'PAR1'", id="other magic"),
        pytest.param(file_of(b"\xff" * 64), None, id="no message"),
        pytest.param(file_of(b""), None, id="no body"),
    ],
)
def test_content_that_is_no_record_batch_is_rejected(
    tmp_path: Path, content: bytes, message: str | None
) -> None:
    with pytest.raises((ValueError, pa.ArrowException, OSError), match=message):
        read(tmp_path / "x", content)


def test_file_larger_than_any_small_segment_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="more than"):
        small_rows.read(path, 3)
