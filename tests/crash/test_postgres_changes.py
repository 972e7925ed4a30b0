"""Crashes of an app that reads a table: each row counts once; it is confirmed after its commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from devtools.servers.postgres import PostgresServer
from kstreams import Topology
from kstreams.batch.io.logs.topic_io import close_readers
from kstreams.state import Memory
from kstreams.state.log.directory import Directory
from kstreams_postgres import slot, slot_making
from kstreams_postgres.poll_contents import PollContents
from kstreams_postgres.slot_contents import SlotContents
from tests.crash.postgres_app import (
    added_words,
    changed_words,
    insert_words,
    marking_rows,
    words_log,
)
from tests.support.crash.failpoints import Point
from tests.support.crash.harness import Harness, Recovery
from tests.support.crash.marking_app import OUT

pytestmark = pytest.mark.slow

POINTS = (
    Point("slot-made-and-not-noted", "before copy", dies="driver"),
    Point("amid-records", "process", nth=3),
    Point("all-done-and-no-commit", "before put commit", dies="driver"),
    Point("reply-of-commit-lost", "lost reply of put commit", dies="nobody"),
    Point("committed-and-not-let-go", "before let go", nth=2, dies="driver"),
    Point("noted-and-slot-not-moved", "before slot moves", nth=2, dies="driver"),
    Point("let-go-and-not-told", "after let go", nth=2, dies="driver"),
    Point("cut-and-not-run", "after replace plan", dies="driver", max_bytes=2_000),
)


class ChangeHarness(Harness):
    """The app of the crash matrix, whose records come as rows."""

    url = ""
    slot = ""
    source = staticmethod(changed_words)

    def append(self, records: Sequence[tuple[str, str]], number: int) -> None:
        insert_words(self.url, records)

    def build(self) -> Topology:
        return marking_rows(lambda builder: self.source(builder, self.url, self.slot), OUT)

    def behind(self, query: str | None = None) -> bool:
        found = [True]
        self.guarded(lambda: found.append(super(ChangeHarness, self).behind(query)))
        return found[-1]

    def _patch_once(self) -> None:
        super()._patch_once()
        reach = self.faults.reach
        committed, copied, held = SlotContents.committed, slot_making._copied, slot.slot_held

        def let_go(contents: SlotContents, positions: Any) -> None:
            reach("before let go")
            self._patch.setattr(slot, "slot_held", moves)
            committed(contents, positions)
            self._patch.setattr(slot, "slot_held", held)
            reach("after let go")

        def moves(*given: Any) -> Any:
            self._patch.setattr(slot, "slot_held", held)
            reach("before slot moves")
            return held(*given)

        def copies(*given: Any) -> int:
            reach("before copy")
            return copied(*given)

        added = PollContents.committed

        def added_let_go(contents: PollContents, positions: Any) -> None:
            reach("before let go")
            added(contents, positions)
            reach("after let go")

        self._patch.setattr(PollContents, "committed", added_let_go)
        self._patch.setattr(SlotContents, "committed", let_go)
        self._patch.setattr(slot_making, "_copied", copies)


@pytest.fixture(autouse=True)
def _connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close the connections of dead processes."""
    made: list[psycopg.Connection[Any]] = []
    connect = psycopg.connect

    def noted(*given: Any, **options: Any) -> psycopg.Connection[Any]:
        made.append(connect(*given, **options))
        return made[-1]

    with monkeypatch.context() as patch:
        patch.setattr(psycopg, "connect", noted)
        yield
        close_readers(["words"])
    for connection in made:
        connection.close()


@pytest.fixture
def words(database: str) -> Iterator[tuple[str, str]]:
    """Yield URL and name of a slot for this test."""
    name = f"w_{uuid4().hex[:12]}"
    yield database, name
    words_log(database, name).drop()


def _harness(
    words: tuple[str, str],
    point: Point,
    recovery: Recovery,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    **options: Any,
) -> ChangeHarness:
    url, name = words
    kind = type("OfSlot", (ChangeHarness,), {"url": url, "slot": name, **options})
    state = Memory(directory=str(tmp_path / "local"))
    log = Directory(str(tmp_path / "log"))
    made: ChangeHarness = kind(tmp_path, state, log, point, recovery, monkeypatch)
    return made


@pytest.mark.parametrize(
    ("point", "recovery"),
    [(point, "restart") for point in POINTS] + [(point, "retry") for point in POINTS[1:6:2]],
    ids=lambda each: getattr(each, "name", each),
)
def test_each_changed_row_counts_once_after_a_crash(
    words: tuple[str, str],
    point: Point,
    recovery: Recovery,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = _harness(words, point, recovery, tmp_path, monkeypatch)
    if point.event == "before copy":
        harness.arm()
        harness.guarded(harness.start_driver)
        harness.batches(2)
        harness.check()
        assert harness.faults.struck
    else:
        harness.die_and_go_on(before=1)
    log = words_log(*words)
    with closing(log.contents()) as contents:
        assert contents.ends() == contents.beginnings() == {0: len(harness.input)}


@pytest.mark.parametrize("point", [*POINTS[1:5], POINTS[6]], ids=lambda point: point.name)
def test_each_polled_row_counts_once_after_a_crash(
    words: tuple[str, str], point: Point, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    polled = staticmethod(added_words)
    harness = _harness(words, point, "restart", tmp_path, monkeypatch, source=polled)
    harness.die_and_go_on(before=1)


@pytest.mark.long
def test_crashed_postgres_server_loses_and_repeats_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres_server: PostgresServer
) -> None:
    with PostgresServer() as server:
        point = Point("none", "never")
        harness = _harness((server.url, "words"), point, "retry", tmp_path, monkeypatch)
        harness.start_driver()
        for _ in range(2):
            harness.batches(1)
            server.kill()
            server.start()
        harness.batches(1)
        harness.check()
        with psycopg.connect(server.url) as connection:
            found = connection.execute("SELECT next_offset FROM kstreams_slots").fetchone()
        assert found == (len(harness.input),)
