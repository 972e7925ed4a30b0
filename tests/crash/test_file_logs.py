"""Crashes of an app that reads files.

Each line counts once, planned lines are read again, and files are moved once, after the commit of
their lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kstreams import Topology
from kstreams.sources import FileInfo, WhenRead
from kstreams.state import Memory
from kstreams.state.log.directory import Directory
from kstreams_files.index import FileIndex
from kstreams_files.local import LocalFiles
from tests.support.crash.failpoints import Point
from tests.support.crash.files_app import MOVE, append_file, marking_files
from tests.support.crash.harness import Harness, Recovery
from tests.support.crash.marking_app import OUT

POINTS = (
    Point("found-and-not-noted", "before index", dies="driver"),
    Point("noted-and-not-planned", "after index", dies="driver"),
    Point("amid-records", "process", nth=3),
    Point("all-done-and-no-commit", "before put commit", dies="driver"),
    Point("reply-of-commit-lost", "lost reply of put commit", dies="nobody"),
    Point("cut-and-not-run", "after replace plan", dies="driver", max_bytes=400),
    Point("committed-and-not-moved", "before take away", dies="driver"),
    Point("linked-and-not-moved", "amid take away", dies="driver"),
    Point("moved-and-not-told", "after take away", dies="driver"),
)


class FileHarness(Harness):
    """The app of the crash matrix, whose records come in files.

    Args:
        when_read: Action on files after their commit.
        given: Arguments of `Harness`.
    """

    def __init__(self, when_read: WhenRead, *given: Any) -> None:
        self.when_read: WhenRead = when_read
        super().__init__(*given)

    def append(self, records: Sequence[tuple[str, str]], number: int) -> None:
        append_file(self.home, records, number)

    def build(self) -> Topology:
        return marking_files(self.home, OUT, self.when_read)

    def behind(self, query: str | None = None) -> bool:
        found = [True]
        self.guarded(lambda: found.append(super(FileHarness, self).behind(query)))
        return found[-1]

    def _patch_once(self) -> None:
        super()._patch_once()
        add = FileIndex.add

        def added(index: FileIndex, found: Any) -> bool:
            self.faults.reach("before index")
            done = add(index, found)
            self.faults.reach("after index")
            return done

        self._patch.setattr(FileIndex, "add", added)
        take_away, link = LocalFiles.take_away, LocalFiles._link

        def taken_away(files: LocalFiles, file: FileInfo, to: str) -> None:
            self.faults.reach("before take away")
            take_away(files, file, to)
            self.faults.reach("after take away")

        def linked(files: LocalFiles, path: Path, target: Path, to: str) -> None:
            link(files, path, target, to)
            self.faults.reach("amid take away")

        self._patch.setattr(LocalFiles, "take_away", taken_away)
        self._patch.setattr(LocalFiles, "_link", linked)


@pytest.mark.parametrize("recovery", ["retry", "restart"])
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_each_line_of_a_file_counts_once_after_a_crash(
    point: Point, recovery: Recovery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = Memory(directory=str(tmp_path / "local"))
    log = Directory(str(tmp_path / "log"))
    harness = FileHarness(MOVE, tmp_path, state, log, point, recovery, monkeypatch)
    harness.die_and_go_on(before=1)
    place = tmp_path / "in"
    assert list(place.glob("*.txt")) == []
    lines = [line for file in sorted(place.glob("_done/*")) for line in file.read_text().split()]
    assert lines == [f"{key}={value}" for key, value in harness.input]


@pytest.mark.parametrize("recovery", ["retry", "restart"])
@pytest.mark.parametrize("point", [POINTS[6], POINTS[8]], ids=["not-deleted", "not-told"])
def test_each_line_of_a_deleted_file_counts_once_after_a_crash(
    point: Point, recovery: Recovery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = Memory(directory=str(tmp_path / "local"))
    log = Directory(str(tmp_path / "log"))
    harness = FileHarness("delete", tmp_path, state, log, point, recovery, monkeypatch)
    harness.die_and_go_on(before=1)
    assert [path.name for path in (tmp_path / "in").iterdir()] == [".kstreams-words"]
