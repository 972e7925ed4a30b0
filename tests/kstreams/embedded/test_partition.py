"""Listings of a partition directory that changes while it is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kstreams.embedded.log import EmbeddedLog
from tests.kstreams.embedded.sample_tables import rows, values


@pytest.fixture
def log(tmp_path: Path) -> EmbeddedLog:
    """Return a log with three published segments of two rows each."""
    log = EmbeddedLog(tmp_path)
    log.create("t", 1)
    for batch in range(3):
        log.append("t", 0, rows(2 * batch, 2 * batch + 1), producer="p", batch=batch)
    return log


@pytest.mark.parametrize("hidden", [{0}, {1}, {0, 1}], ids=str)
def test_segments_missed_by_a_scan_are_found(
    log: EmbeddedLog, hidden: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    missed = {log.segments("t", 0)[n].name for n in hidden}
    real = os.listdir

    def listdir(path: Path) -> list[str]:
        names = set(real(path)) - missed
        missed.clear()
        return sorted(names)

    monkeypatch.setattr(os, "listdir", listdir)
    assert values(EmbeddedLog(log.root), "t") == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("head", [b"", b"\0" * 128, b"\xff", b"no segment".ljust(128)])
def test_lost_or_invalid_head_file_costs_one_scan(log: EmbeddedLog, head: bytes) -> None:
    (log.root / "t" / "0" / ".head").write_bytes(head)
    for reader in (log, EmbeddedLog(log.root)):
        assert len(reader.segments("t", 0)) == 3
    assert log.append("t", 0, rows(6), producer="p", batch=3).first_offset == 6
    assert values(EmbeddedLog(log.root), "t") == [0, 1, 2, 3, 4, 5, 6]


def test_partition_copied_without_head_file_is_complete(log: EmbeddedLog) -> None:
    (log.root / "t" / "0" / ".head").unlink()
    copy = EmbeddedLog(log.root)
    assert values(copy, "t") == [0, 1, 2, 3, 4, 5]
    assert copy.append("t", 0, rows(9), producer="p", batch=2).first_offset == 4
    assert copy.append("t", 0, rows(6), producer="p", batch=3).first_offset == 6


def test_head_file_that_names_unpublished_segment_is_ignored(log: EmbeddedLog) -> None:
    """A publisher that is killed before its link leaves such a head file."""
    made = log.segments("t", 0)[-1].name
    named = made.replace(f"{4:020d}", f"{6:020d}").replace("-2.rows", "-3.rows")
    (log.root / "t" / "0" / ".head").write_bytes(named.encode().ljust(128))
    for reader in (log, EmbeddedLog(log.root)):
        assert reader.end_offset("t", 0) == 6
        assert reader.end_offset("t", 0) == 6
    assert EmbeddedLog(log.root).append("t", 0, rows(7), producer="q", batch=0).first_offset == 6
    assert values(log, "t") == [0, 1, 2, 3, 4, 5, 7]
