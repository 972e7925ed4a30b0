"""A pause is stored in the checkpoint, and prevents new plans until it ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kstreams import Embedded
from kstreams.batch.report import AppState
from kstreams.checkpoint import pause as pausing
from kstreams.checkpoint.pause import Pause, PauseWatch, pause, present_pause, resume
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.clock import SystemClock
from kstreams.errors import ExecutionError
from kstreams.execution.app_parts import AppParts
from kstreams.execution.app_run import AppRun
from kstreams.local_workers.engine import EmbeddedEngine
from kstreams_testing.resident_objects import ResidentObjects
from tests.support.apps.committing_app import topology
from tests.support.apps.counts_store import COUNTS


class Kept:
    """Settings of an object store in this process."""

    def __init__(self) -> None:
        self.objects = ResidentObjects()

    def open(self) -> ResidentObjects:
        return self.objects


@pytest.fixture(params=["directory", "objects"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> CheckpointHome:
    return home_of(tmp_path if request.param == "directory" else Kept())


def test_first_of_several_pauses_is_stored_until_resume(home: CheckpointHome) -> None:
    assert present_pause(home) is None
    assert pause(home, "a move\nof tables", 5).reason == "a move\\nof tables"
    assert pause(home, "another", 9, "anna").since_ms == 5
    assert present_pause(home) == resume(home)
    assert (present_pause(home), resume(home)) == (None, None)
    assert pause(home, "again", 6, "anna\n").shown == "again (by anna\\n)"
    assert present_pause(home) == Pause(6, "again", "anna\\n")
    home.forget_pause()
    home.note_pause(b'{"since_ms": 7, "reason": "of an earlier version"}')
    assert present_pause(home) == Pause(7, "of an earlier version")


@pytest.mark.parametrize("data", [b"", b"[]", b'{"since_ms": "x"}', b"\xff"])
def test_damaged_pause_note_pauses_app(home: CheckpointHome, data: bytes) -> None:
    home.note_pause(data)
    found = present_pause(home)
    assert found is not None
    assert "cannot be read" in found.reason


def test_unreadable_pause_note_leaves_app_paused_or_running_as_before(tmp_path: Path) -> None:
    home = home_of(tmp_path)
    watch = PauseWatch(home, "app")
    watch._every = 0
    pause(home, "why", 5)
    assert watch.present() is not None
    (tmp_path / "paused.json").unlink()
    (tmp_path / "paused.json").mkdir()  # reading it fails
    assert watch.present() is not None
    (tmp_path / "paused.json").rmdir()
    assert watch.present() is None


class Ticked:
    """A fake query that counts its ticks."""

    name, fills_tables = "q", False

    def __init__(self) -> None:
        self.ticks = 0
        self.is_resting = False

    def is_finished(self) -> bool:
        return False

    def resume(self, **_: object) -> None:
        self.ticks += 1
        self.is_resting = False

    def pause(self) -> None:
        self.is_resting = True

    def check(self) -> None:
        pass

    def stop(self, _: object) -> None:
        pass

    def end(self) -> dict[Any, int]:
        return {}

    def reached(self, *_: object) -> bool:
        return False


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[AppRun, Ticked, CheckpointHome]:
    monkeypatch.setattr(pausing, "_DIRECTORY_SECONDS", 0.0)
    settings = AppSettings("app", home_of(tmp_path))
    parts = AppParts(
        topology=topology(COUNTS),
        connection=Embedded(tmp_path / "topics"),
        lock=settings.checkpoint.lock(),
        clock=SystemClock(),
        report=lambda *_: None,
        engine=EmbeddedEngine(1),
        run="run",
    )
    run, query = AppRun(settings, parts), Ticked()
    run._queries = (query,)  # type: ignore[assignment]  # a fake query
    run.state = AppState.RUNNING
    return run, query, settings.checkpoint


def until(done: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if done():
            return
        time.sleep(0.005)
    raise AssertionError("the condition was not met within 10 s")


def test_paused_app_plans_no_batch_until_resume(
    app: tuple[AppRun, Ticked, CheckpointHome],
) -> None:
    run, query, home = app
    pause(home, "from the start", 5)
    thread = threading.Thread(target=run.run)
    thread.start()
    until(lambda: query.is_resting)
    assert query.ticks == 0
    resume(home)
    until(lambda: query.ticks > 0)
    pause(home, "again", 5)
    until(lambda: query.is_resting)
    ticks = query.ticks
    time.sleep(0.1)
    assert query.ticks == ticks
    run.stop.set()
    thread.join()


def test_run_to_end_of_paused_app_is_rejected(app: tuple[AppRun, Ticked, CheckpointHome]) -> None:
    run, query, home = app
    pause(home, "a move", 5)
    with pytest.raises(
        ExecutionError, match="is paused, so a run to the end cannot finish: a move"
    ):
        run.drain(None, close_windows=False)
    assert query.ticks == 0
