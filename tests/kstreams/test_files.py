"""Reads of small files: bounded, without a buffer of the maximum size."""

from __future__ import annotations

import errno
import tracemalloc
from pathlib import Path

import pytest

from kstreams.checkpoint.storage.directory_telemetry import DirectoryTelemetry
from kstreams.files import open_regular, read_at_most, read_small

MIB = 1024 * 1024


def test_read_small_of_small_file_allocates_little(tmp_path: Path) -> None:
    path = tmp_path / "document"
    path.write_bytes(b"x" * 1000)
    tracemalloc.start()
    try:
        data = read_small(path, 64 * MIB)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert data == b"x" * 1000
    assert peak < MIB


def test_read_of_small_telemetry_document_allocates_little(tmp_path: Path) -> None:
    (tmp_path / "status.json").write_bytes(b"{}")
    telemetry = DirectoryTelemetry(tmp_path)
    tracemalloc.start()
    try:
        data = telemetry.read("status.json")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert data == b"{}"
    assert peak < MIB


@pytest.mark.parametrize("size", [0, 1, 10, MIB - 1, MIB])
def test_read_small_up_to_its_limit_returns_all_bytes(tmp_path: Path, size: int) -> None:
    path = tmp_path / "document"
    path.write_bytes(b"y" * size)
    assert read_small(path, MIB) == b"y" * size


def test_read_small_above_its_limit_raises_efbig(tmp_path: Path) -> None:
    path = tmp_path / "document"
    path.write_bytes(b"y" * 11)
    with pytest.raises(OSError, match="more than 10 bytes") as caught:
        read_small(path, 10)
    assert caught.value.errno == errno.EFBIG


def test_read_at_most_of_larger_file_returns_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "document"
    path.write_bytes(b"ab" * MIB)
    with open_regular(path) as file:
        assert read_at_most(file, MIB + 1) == b"ab" * (MIB // 2) + b"a"
