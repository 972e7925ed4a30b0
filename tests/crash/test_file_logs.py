"""Death of an app that reads files: each line counts once, and what was planned is read again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kstreams import TEXT, Topology, TopologyBuilder
from kstreams.file_logs.index import FileIndex
from kstreams.operators import map_
from kstreams.sources import Lines, folder
from kstreams.state import Memory
from kstreams.state.log.directory import Directory
from tests.crash.failpoints import Point
from tests.crash.harness import Harness, Recovery
from tests.crash.workload import COUNTS, LAST, MARKS, OUT, PARTITIONS, Mark

POINTS = (
    Point("found-and-not-noted", "before index", dies="driver"),
    Point("noted-and-not-planned", "after index", dies="driver"),
    Point("amid-records", "process", nth=3),
    Point("all-done-and-no-commit", "before put commit", dies="driver"),
    Point("reply-of-commit-lost", "lost reply of put commit", dies="nobody"),
    Point("cut-and-not-run", "after replace plan", dies="driver", max_bytes=400),
)


def keyed(_key: None, line: str) -> tuple[str, str]:
    key, _, value = line.partition("=")
    return key, value


class FileHarness(Harness):
    """The app of the matrix, whose records come in files."""

    def append(self, records: Sequence[tuple[str, str]], number: int) -> None:
        place = self.home / "in"
        place.mkdir(exist_ok=True)
        if records:
            text = "\n".join(f"{key}={value}" for key, value in records)
            file = place / f"{number:06}.txt"
            file.with_suffix(".part").write_text(text)
            os.utime(file.with_suffix(".part"), (number, number))
            file.with_suffix(".part").rename(file)

    def build(self) -> Topology:
        builder = TopologyBuilder("marking")
        log = folder("words", self.home / "in", Lines(TEXT), partitions=PARTITIONS)
        words = builder.add_processor("keyed", map_(keyed), builder.add_source("words", log))
        edge = builder.repartition("by-key", words, key=TEXT, value=TEXT)
        node = builder.add_processor("mark", Mark, edge, stores=[LAST, COUNTS, MARKS])
        builder.add_sink("marks", OUT, node)
        return builder.build()

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


@pytest.mark.parametrize("recovery", ["retry", "restart"])
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_each_line_counts_once(
    point: Point, recovery: Recovery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = Memory(directory=str(tmp_path / "local"))
    log = Directory(str(tmp_path / "log"))
    harness = FileHarness(tmp_path, state, log, point, recovery, monkeypatch)
    harness.start_driver()
    harness.batch()
    harness.arm()
    for _ in range(3):
        if not harness.faults.struck:
            harness.batch()
    if point.dies == "nobody":
        harness.end_process()
    assert harness.faults.struck
    for _ in range(2):
        harness.batch()
    harness.check()
