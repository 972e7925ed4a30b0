"""Forks, savepoints, resets, restores and views of apps that read logs instead of topics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from kstreams import TEXT, Topology, TopologyBuilder
from kstreams.batch import query_driver
from kstreams.checkpoint.savepoint.fork import ForkSource, fork
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.errors import DataLossError, TopicRecreatedError
from kstreams.operators import map_
from kstreams.sources import Lines, Log, MoveTo, WhenRead, folder, items, rate
from kstreams.state import Memory
from kstreams.state.log.directory import Directory
from kstreams.views import View
from kstreams_admin.reset import reset
from kstreams_client.remote_view import RemoteView
from tests.support.crash.failpoints import Point
from tests.support.crash.files_app import append_file
from tests.support.crash.harness import Harness
from tests.support.crash.marking_app import COUNTS, LAST, MARKS, OUT, PARTITIONS, Mark
from tests.support.servers.query_server import TOKEN, serving

Logs = Callable[[Path], Log[Any, Any]]
"""Makes the log of an app with its files in a folder."""

NO_POINT = Point("nothing-dies", "never")
BEGIN = datetime(2026, 1, 31, tzinfo=timezone.utc)


def files(when_read: WhenRead) -> Logs:
    def make(place: Path) -> Log[None, str]:
        return folder("words", place, Lines(TEXT), partitions=PARTITIONS, when_read=when_read)

    return make


class LogHarness(Harness):
    """An app that counts the lines of files, or the records of another log.

    Args:
        make: Factory of the log.
        files: Directory of the log's files.
        given: Arguments of `Harness`.
    """

    def __init__(self, make: Logs, place: Path, *given: Any) -> None:
        self.make = make
        self.files = place
        place.mkdir(exist_ok=True, parents=True)
        super().__init__(*given)

    def append(self, records: Sequence[tuple[str, str]], number: int) -> None:
        append_file(self.files.parent, records, number)

    def build(self) -> Topology:
        builder = TopologyBuilder("marking")
        words = builder.add_processor(
            "keyed", map_(_keyed), builder.add_source("words", self.make(self.files))
        )
        edge = builder.repartition("by-key", words, key=TEXT, value=TEXT)
        node = builder.add_processor("mark", Mark, edge, stores=[LAST, COUNTS, MARKS])
        builder.add_sink("marks", OUT, node)
        return builder.build()

    def counted(self) -> dict[str, int]:
        """Return the count of each key as of the last commit."""
        return {key: len(marks) for key, marks in self.state().items()}


def _keyed(_key: None, line: object) -> tuple[str, str]:
    key, _, value = str(line).partition("=")
    return key, value or "count"


def app(home: Path, make: Logs, patch: pytest.MonkeyPatch, place: Path | None = None) -> LogHarness:
    """Make an app in a directory, with its own files or the files of another app."""
    log = Directory(str(home / "checkpoint" / "state"))
    state = Memory(directory=str(home / "local"))
    given = (home, state, log, NO_POINT, "retry", patch)
    return LogHarness(make, place or home / "in", *given)


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(query_driver, "_SWEEP_EVERY", 1)
    return monkeypatch


def begun(home: Path, make: Logs, patch: pytest.MonkeyPatch) -> LogHarness:
    """Return an app after two batches."""
    harness = app(home, make, patch)
    harness.start_driver()
    harness.batches(2)
    return harness


def kept(harness: Harness) -> dict[str, Any]:
    """Create a savepoint; return the state in it."""
    Savepoints(harness.checkpoint, harness.log.open()).create("kept", harness.clock)
    return harness.state()


def forked(harness: LogHarness, home: Path, patch: pytest.MonkeyPatch, **given: Any) -> LogHarness:
    """Return an app on a fork of the savepoint that reads the log of the original."""
    made = app(home, harness.make, patch, harness.files)
    source = ForkSource(harness.checkpoint.home.named, "kept", log=harness.log, **given)
    fork(source, home / "checkpoint", "crash", log=made.log)
    return made


def reset_and_start(harness: LogHarness, patch: pytest.MonkeyPatch) -> LogHarness:
    """Reset a stopped app, and start it again."""
    harness.worker.background.drain()
    reset("crash", checkpoint=harness.checkpoint.home.named, state=harness.backend)
    made = app(harness.home, harness.make, patch)
    made.start_driver()
    made.run_until_committed()
    return made


def test_fork_continues_files_from_savepoint_like_original(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    """Both apps share the file index, so all lines have the same offsets."""
    harness = begun(tmp_path / "first", files("leave"), patch)
    state = kept(harness)
    harness.batches(2)
    other = forked(harness, tmp_path / "second", patch)
    other.start_driver()
    assert other.state() == state
    other.run_until_committed()
    assert other.counted() == harness.counted()
    harness.emit()
    for each in (other, harness):
        each.run_until_committed()
    assert other.counted() == harness.counted()


@pytest.mark.parametrize("when_read", ["delete", MoveTo("_done")], ids=["delete", "move"])
def test_fork_with_deleted_files_raises_data_loss_error(
    when_read: WhenRead, tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    harness = begun(tmp_path / "first", files(when_read), patch)
    state = kept(harness)
    harness.batches(2)
    other = forked(harness, tmp_path / "second", patch)
    with pytest.raises(DataLossError, match="deleted before they were read") as caught:
        other.start_driver()
    assert caught.value.where.topic == "words"
    later = forked(harness, tmp_path / "third", patch, start=BEGIN)  # only files added later
    later.start_driver()
    later.run_until_committed()
    assert later.state() == state


def test_reset_app_reads_retained_files_again(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    harness = begun(tmp_path, files("leave"), patch)
    counted = harness.counted()
    assert reset_and_start(harness, patch).counted() == counted


def test_reset_app_begins_after_deleted_files_and_logs_warning(
    tmp_path: Path, patch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    harness = begun(tmp_path, files("delete"), patch)
    with caplog.at_level(logging.WARNING, "kstreams"):
        again = reset_and_start(harness, patch)
    assert "log 'words' begins at" in caplog.text
    assert again.counted() == {}
    again.input += harness.input  # files have unique names
    again.batches(1)
    assert sum(again.counted().values()) > 0


def test_reset_app_reads_restored_files(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    harness = begun(tmp_path, files(MoveTo("_done")), patch)
    counted = harness.counted()
    for file in (harness.files / "_done").iterdir():
        file.rename(harness.files / file.name)
    assert reset_and_start(harness, patch).counted() == counted


def test_view_shows_committed_record_counts_of_app_on_log(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    harness = begun(tmp_path, files("delete"), patch)
    counted = harness.counted()
    path = tmp_path / "checkpoint"
    with (
        View(path, COUNTS) as view,
        serving((path, COUNTS)) as served,
        RemoteView(served.server.url, COUNTS, token=TOKEN) as remote,
    ):
        assert dict(view.range()) == dict(remote.range()) == counted
        harness.batch()
        assert dict(view.range()) == harness.counted() != counted


LISTS: dict[str, Logs] = {
    "items": lambda _: items("words", ["a", "b", "a"] * 40, TEXT, partitions=PARTITIONS),
    "rate": lambda _: rate("words", 1, start=BEGIN, partitions=PARTITIONS),
}


@pytest.mark.parametrize("make", LISTS.values(), ids=LISTS)
def test_app_on_generated_log_is_forked_and_reset_like_app_on_topic(
    make: Logs, tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    patch.setattr("kstreams_generated_logs.rate_log.SystemClock", _Fixed)
    harness = app(tmp_path / "first", make, patch)
    harness.start_driver()
    harness.run_until_committed()
    counted = harness.counted()
    assert sum(counted.values()) == 120
    kept(harness)
    other = forked(harness, tmp_path / "second", patch)
    other.start_driver()
    assert not other.behind()
    assert other.counted() == counted
    assert reset_and_start(harness, patch).counted() == counted


def test_items_log_with_changed_list_is_rejected_at_start(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    harness = app(tmp_path, LISTS["items"], patch)
    harness.start_driver()
    harness.run_until_committed()
    harness.make = lambda _: items("words", ["a", "c"] * 60, TEXT, partitions=PARTITIONS)
    with pytest.raises(TopicRecreatedError):
        harness.start_driver()


class _Fixed:
    """A clock two minutes after the beginning."""

    def now_ms(self) -> int:
        return int((BEGIN + timedelta(seconds=120)).timestamp() * 1000)
