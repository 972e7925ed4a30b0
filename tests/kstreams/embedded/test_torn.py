"""Torn, damaged and stray files: readers see whole rows or an error that names the file."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kstreams.embedded.log import EmbeddedLog
from kstreams.embedded.segment import producer_hash
from kstreams.errors import DataLossError, ExecutionError, UnknownTopicError
from kstreams.errors.topics import CorruptSegmentError, TopicFormatError
from kstreams.raw_batch import STORED_SCHEMA
from tests.kstreams.embedded.sample_tables import rows, values
from tests.support.processes import emitting_process as emitting


@pytest.fixture
def log(tmp_path: Path) -> EmbeddedLog:
    made = EmbeddedLog(tmp_path, durable=False)
    made.create("t", 1)
    return made


def with_headers(count: int) -> pa.Table:
    table = rows(*range(count))
    headers = pa.array([[("name", b"value")]] * count, STORED_SCHEMA.field("headers").type)
    return table.append_column("headers", headers)


@pytest.mark.parametrize("content", [rows(*range(20)), with_headers(20)], ids=["plain", "headers"])
def test_segment_with_flipped_bit_is_read_unchanged_or_rejected(
    log: EmbeddedLog, content: pa.Table
) -> None:
    segment = log.append("t", 0, content, producer="p", batch=0)
    whole = log.read(segment)
    file = log.root / "t" / "0" / segment.name
    good = file.read_bytes()
    for at in range(len(good)):
        file.write_bytes(good[:at] + bytes([good[at] ^ 1 << at % 8]) + good[at + 1 :])
        try:
            assert log.read(segment).equals(whole), at
        except CorruptSegmentError as exc:
            assert segment.name in str(exc)  # noqa: PT017  # both outcomes are correct


def test_segment_truncated_at_any_byte_is_rejected(log: EmbeddedLog) -> None:
    segment = log.append("t", 0, with_headers(20), producer="p", batch=0)
    file = log.root / "t" / "0" / segment.name
    good = file.read_bytes()
    for length in range(0, len(good), 3):
        file.write_bytes(good[:length])
        with pytest.raises(CorruptSegmentError, match=segment.name):
            log.read(segment)


def name(first: str, count: str = "2", latest: str = "1") -> str:
    return f"{first:0>20}-{count}-{latest}-{producer_hash('q')}-0.parquet"


STRAY = (
    ".DS_Store",
    "core",
    name("2") + "~",
    name("2") + ".tmp",
    "." + name("2"),
    name("2", count="0"),
    name("2", count="9" * 30),
    name("9223372036854775807"),
    name("99999999999999999999"),
    name("٢"),
    name("2", latest="9" * 25),
)
"""Files of other programs, and names that only resemble those of segments."""


@pytest.mark.parametrize("directory", ["", "t", "t/0", "t/.staged", "t/.staged/0"])
def test_stray_files_in_partition_are_ignored(log: EmbeddedLog, directory: str) -> None:
    log.append("t", 0, rows(1, 2), producer="p", batch=0)
    for stray in STRAY:
        (log.root / directory / stray).write_bytes(b"garbage")
    (log.root / directory / "folder").mkdir()
    fresh = EmbeddedLog(log.root)
    assert fresh.topics() == ("t",)
    assert values(fresh, "t") == [1, 2]
    fresh.append("t", 0, rows(3), producer="p", batch=1)
    fresh.sweep_staged([], older_than_ms=2**53)
    assert values(log, "t") == values(EmbeddedLog(log.root), "t") == [1, 2, 3]


def garbage(file: Path) -> None:
    file.write_bytes(b"PAR1 garbage PAR1")


def link_to_nowhere(file: Path) -> None:
    file.symlink_to("nowhere")


@pytest.mark.parametrize("made", [garbage, Path.touch, Path.mkdir, link_to_nowhere])
def test_other_file_type_in_place_of_segment_is_rejected_and_appends_continue(
    log: EmbeddedLog, made: Callable[[Path], Any]
) -> None:
    log.append("t", 0, rows(1, 2), producer="p", batch=0)
    stray = log.root / "t" / "0" / name("2")
    made(stray)
    fresh = EmbeddedLog(log.root)
    first, wrong = fresh.segments("t", 0)
    assert fresh.read(first).num_rows == 2
    with pytest.raises((CorruptSegmentError, DataLossError), match=stray.name) as caught:
        fresh.read(wrong)
    assert caught.value.where.offset == 2
    added = fresh.append("t", 0, rows(5), producer="p", batch=1)
    assert added.first_offset == 4
    assert fresh.read(added).column("value").to_pylist() == [b"5"]


def test_error_of_segment_file_beyond_end_of_partition_names_it(log: EmbeddedLog) -> None:
    log.append("t", 0, rows(1, 2), producer="p", batch=0)
    garbage(log.root / "t" / "0" / name("7"))
    with pytest.raises(DataLossError, match=name("7")) as caught:
        EmbeddedLog(log.root).segments("t", 0)
    assert name("7") in caught.value.hint
    (log.root / "t" / "0" / name("7")).unlink()
    assert values(EmbeddedLog(log.root), "t") == [1, 2]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'"' * 99, b"null", b"{}"])
def test_error_of_damaged_topic_description_names_topic(log: EmbeddedLog, content: bytes) -> None:
    log.append("t", 0, rows(1, 2), producer="p", batch=0)
    description = log.root / "t" / "topic.json"
    good = description.read_bytes()
    description.write_bytes(content)
    for each in (log, EmbeddedLog(log.root)):
        with pytest.raises(TopicFormatError) as caught:
            each.segments("t", 0)
        assert caught.value.where.topic == "t"
    description.write_bytes(good)
    assert values(log, "t") == [1, 2]


def test_topic_without_description_or_partition_is_rejected(log: EmbeddedLog) -> None:
    log.append("t", 0, rows(1), producer="p", batch=0)
    (log.root / "t" / "0").rename(log.root / "aside")
    with pytest.raises(ExecutionError, match="No such file") as caught:
        EmbeddedLog(log.root).segments("t", 0)
    assert (caught.value.where.topic, caught.value.where.partition) == ("t", 0)
    (log.root / "t" / "topic.json").unlink()
    with pytest.raises(UnknownTopicError):
        EmbeddedLog(log.root).segments("t", 0)


STEPS = ("open", "write", "pwrite", "link", "fsync")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("at", [1, 2])
def test_disk_full_at_any_step_raises_typed_error_and_replay_appends_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, at: int
) -> None:
    log = EmbeddedLog(tmp_path)
    log.create("t", 1)
    log.append("t", 0, rows(1), producer="p", batch=0)
    real, calls = getattr(os, step), [0]

    def full(*arguments: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] >= at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, step, full)
        if at == 1 or step in ("open", "fsync"):  # otherwise it is called once
            with pytest.raises(ExecutionError, match="No space left") as caught:
                log.append("t", 0, rows(2), producer="p", batch=1)
            assert (caught.value.where.topic, caught.value.where.partition) == ("t", 0)
    for each in (log, EmbeddedLog(tmp_path)):
        assert values(each, "t") in ([1], [1, 2])
        each.append("t", 0, rows(2), producer="p", batch=1)
        assert values(each, "t") == [1, 2]


def test_emitter_on_full_disk_fails_and_leaves_complete_records(tmp_path: Path) -> None:
    def little_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))

    log = EmbeddedLog(tmp_path)
    log.create("t", 1)
    writer = subprocess.Popen(
        [sys.executable, "-m", emitting.__name__, str(tmp_path), "3"],
        cwd=Path(__file__).parents[3],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=little_room,  # noqa: PLW1509  # this process has no other threads
    )
    _, errors = writer.communicate()
    assert writer.returncode == 1
    assert "File too large" in errors
    assert values(log, "t") == []
    assert list((tmp_path / "t" / ".staged").glob("*/*")) == []
    log.append("t", 0, rows(1), producer="p", batch=0)
    assert values(EmbeddedLog(tmp_path), "t") == [1]
