"""Death around what goes to PostgreSQL: between its commit and the batch's, and its showing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kstreams import Topology, TopologyBuilder
from kstreams.state import Memory
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.log.directory import Directory
from kstreams_postgres import PostgresTable
from kstreams_postgres.writer import PostgresWriter
from tests.connectors.kstreams_postgres.tables import Place
from tests.crash.failpoints import Point
from tests.crash.harness import RECOVERIES, Harness, Recovery
from tests.crash.workload import COUNTS, DROP, IN, LAST, MARKS, OUT, Mark

pytestmark = pytest.mark.slow

POINTS = (
    Point("before-the-rows", "before sink"),
    Point("between-the-databases-commit-and-the-batchs", "after sink"),
    Point("one-of-two-sinks-written", "after sink", nth=2),
    Point("one-of-two-tasks-written", "after sink", nth=3),
    Point("all-done-and-no-commit", "before put commit", dies="driver"),
    Point("reply-of-commit-lost", "lost reply of put commit", dies="nobody"),
    Point("committed-and-not-shown", "before show", dies="driver"),
    Point("shown-and-spark-not-told", "after show", dies="driver"),
    Point("cut-and-not-run", "after replace plan", dies="driver", max_bytes=400),
)


def mark_row(key: str, mark: str) -> Mapping[str, object]:
    """Make a row of each mark: no two attempts have the same."""
    return {"word": key, "mark": mark}


def count_row(_key: str, mark: str) -> Mapping[str, object] | None:
    """Make the count of a key, which a drop deletes."""
    return None if mark == DROP else {"n": int(mark.partition(":")[0])}


class SinkHarness(Harness):
    """The app of the matrix, which writes to a database too.

    Args:
        tables: The database.
        given: As for a `Harness`.
    """

    def __init__(self, tables: Place, *given: Any) -> None:
        self.tables = tables
        tables.execute("CREATE TABLE marks (word text, mark text)")
        tables.execute("CREATE TABLE counts (word text PRIMARY KEY, n int)")
        super().__init__(*given)

    def build(self) -> Topology:
        builder = TopologyBuilder("marking")
        stores = [LAST, COUNTS, MARKS]
        node = builder.add_processor("mark", Mark, builder.add_source("words", IN), stores=stores)
        builder.add_sink("marks", OUT, node)
        url = self.tables.url
        builder.add_sink("rows", PostgresTable(url, "marks", key=(), row=mark_row), node)
        counts = PostgresTable(url, "counts", key=("word",), row=count_row)
        builder.add_sink("counts", counts, node)
        return builder.build()

    def _patch_once(self) -> None:
        super()._patch_once()
        reach, write, show = self.faults.reach, PostgresWriter.write, PostgresTable.publish

        def written(writer: PostgresWriter[Any, Any], *given: Any) -> Sequence[str]:
            reach("before sink")
            receipts = write(writer, *given)
            reach("after sink")
            return receipts

        def shown(sink: PostgresTable[Any, Any], receipts: Any) -> None:
            reach("before show")
            show(sink, receipts)
            reach("after show")

        self._patch.setattr(PostgresWriter, "write", written)
        self._patch.setattr(PostgresTable, "publish", shown)

    def _new_process(self) -> None:
        if hasattr(self, "worker"):
            self.worker.writers.close()
        super()._new_process()

    def check(self) -> None:
        """Compare the tables with the topic, which holds each result once."""
        super().check()
        rows = [(row.key.decode(), row.value.decode()) for row in self._published()]
        assert self.tables.rows("marks") == sorted(rows)
        counted = {key: count_row(key, mark) for key, mark in rows}
        assert dict(self.tables.rows("counts")) == {
            key: found["n"] for key, found in counted.items() if found is not None
        }
        assert self.tables.execute("SELECT count(*) FROM kstreams_fence") == [(4,)]
        self.worker.writers.close()


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_tables_have_each_result_once(
    point: Point,
    recovery: Recovery,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log: ObjectStoreSettings = Directory(str(tmp_path / "log"))
    state = Memory(directory=str(tmp_path / "local"))
    make = partial(SinkHarness, Place(database))
    harness = make(tmp_path, state, log, point, recovery, monkeypatch)
    harness.start_driver()
    for _ in range(2):
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
