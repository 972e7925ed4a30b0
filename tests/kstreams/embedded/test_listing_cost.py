"""Planning costs the same with ten and with ten thousand segments; counted, not timed."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kstreams.embedded import small_rows
from kstreams.embedded.log import EmbeddedLog
from kstreams.embedded.segment import Segment
from tests.kstreams.embedded.sample_tables import rows

MANY = 10_000


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A topic of 10,000 one-row segments, linked to one file."""
    root = tmp_path_factory.mktemp("many")
    log = EmbeddedLog(root, durable=False)
    log.create("t", 1)
    first = log.append("t", 0, rows(1), producer="p", batch=0)
    directory = root / "t" / "0"
    for n in range(1, MANY - 1):
        link(directory, first, replace(first, first_offset=n, batch=n))
    # A log that has not listed the directory yet; no other log adds files meanwhile.
    EmbeddedLog(root, durable=False).append("t", 0, rows(1), producer="p", batch=MANY - 1)
    return root


def link(directory: Path, first: Segment, made: Segment) -> None:
    os.link(directory / first.name, directory / made.name)


@pytest.fixture
def calls(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count directory scans and opened segments of this test's logs.

    Threads that other tests left running scan other directories.
    """
    counted: Counter[str] = Counter()

    def spy(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def counting(path: Any, *args: Any, **options: Any) -> Any:
            if any(str(path).startswith(f"{log}/") for log in (root, tmp_path)):
                counted[name] += 1
            return real(path, *args, **options)

        monkeypatch.setattr(owner, name, counting)

    spy(os, "listdir")
    spy(os, "scandir")
    spy(small_rows, "read_small")
    return counted


def test_first_call_scans_directory_once_and_opens_no_segment(
    root: Path, calls: Counter[str]
) -> None:
    assert len(EmbeddedLog(root).segments("t", 0)) == MANY
    assert calls == {"listdir": 1}


def test_calls_without_new_segments_do_not_scan_directory(root: Path, calls: Counter[str]) -> None:
    log = EmbeddedLog(root)
    log.segments("t", 0)
    calls.clear()
    for start in (0, 5_000, MANY):
        assert len(log.segments("t", 0, start)) == MANY - start
        assert log.end_offset("t", 0) == MANY
    assert calls == {}


def test_reader_finds_segments_appended_by_another_log_without_scan(
    tmp_path: Path, calls: Counter[str]
) -> None:
    reader, writer = EmbeddedLog(tmp_path), EmbeddedLog(tmp_path)
    reader.create("t", 1)
    writer.append("t", 0, rows(0), producer="p", batch=0)
    assert len(reader.segments("t", 0)) == 1
    calls.clear()
    for n in range(1, 6):
        writer.append("t", 0, rows(n), producer="p", batch=n)
        assert [s.batch for s in reader.segments("t", 0, n)] == [n]
    for n in range(6, 6 + 31):
        writer.append("t", 0, rows(n), producer="p", batch=n)
    assert [s.batch for s in reader.segments("t", 0, 5)] == list(range(5, 37))
    assert calls == {}
    for n in range(37, 37 + 32):  # more than a head file names
        writer.append("t", 0, rows(n), producer="p", batch=n)
    assert [s.batch for s in reader.segments("t", 0, 5)] == list(range(5, 69))
    assert calls == {"listdir": 1}


def test_appends_after_first_one_do_not_scan_directory(root: Path, calls: Counter[str]) -> None:
    log = EmbeddedLog(root, durable=False)
    log.create("own", 1)
    for n in range(5):
        log.append("own", 0, rows(n), producer="p", batch=n)
    assert calls["listdir"] <= 1


def test_look_up_of_timestamp_reads_one_segment(root: Path, calls: Counter[str]) -> None:
    assert EmbeddedLog(root).offsets_at("t", 1_000) == {0: 0}
    assert EmbeddedLog(root).offsets_at("t", 2_000) == {0: MANY}
    assert calls["read_small"] == 1
