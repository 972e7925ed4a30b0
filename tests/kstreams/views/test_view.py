"""A view shows complete commits from outside, and is stable during an iteration."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import DOUBLE, INT64, TEXT
from kstreams.checkpoint.log_headers import begin_logs
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.errors import (
    CheckpointMismatchError,
    ExecutionError,
    InvalidNameError,
    LogMismatchError,
    NoCheckpointError,
    StateCorruptError,
    StoreError,
)
from kstreams.state.backend.working import StateBackend
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.testing import FakeClock
from kstreams.views.view import View
from kstreams_rocksdb import RocksDB
from tests.support.apps.committing_app import PARTITIONS, Committing, LogInMemory
from tests.support.apps.counts_store import BACKENDS, CHANGES, COUNTS


@BACKENDS
def test_view_follows_commits_and_routes_keys(tmp_path: Path, backend: StateBackend) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([])
    with View(tmp_path, COUNTS, backend=backend) as view:
        assert (view.version, view.get("a"), list(view.items())) == (0, None, [])
        app.put((f"k{n}", n) for n in range(20))
        assert (view.get("k7"), view.version, view.has("k7"), view.has("x")) == (7, 1, True, False)
        app.put([("k7", None), ("k8", 80)])
        assert (view.get("k7"), view.get("k8"), view.wall_ms) == (None, 80, 1002)
        keys = sorted(f"k{n}" for n in range(20) if n != 7)
        assert [key for key, _ in view.items()] == keys
        assert [key for key, _ in view.range(reverse=True)] == keys[::-1]
        assert list(view.range("k17", "k2")) == [("k17", 17), ("k18", 18), ("k19", 19)]
        assert [key for key, _ in view.prefix_scan(b"k1")] == [k for k in keys if k[:2] == "k1"]


@pytest.mark.long
@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(changes=CHANGES, looks=st.sets(st.integers(0, 13)), sweeps=st.sets(st.integers(0, 13)))
def test_view_equals_model_after_any_commits_merges_and_snapshots(
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[dict[str, int | None]],
    looks: set[int],
    sweeps: set[int],
) -> None:
    log = LogInMemory()
    app = Committing(tmp_path_factory.mktemp("view"), COUNTS, objects=log.objects)
    app.put([])
    models: list[dict[str, int]] = [{}]
    with View(app.path, COUNTS, log=log) as view:
        for number, change in enumerate(changes):
            app.put(change.items())
            model = {**models[-1], **change}
            models.append({k: v for k, v in sorted(model.items()) if v is not None})
            if number in sweeps:
                app.sweep(3)
            if number in looks:
                assert dict(view.items()) == models[-1]
                assert [view.get(key) for key in "abcdefgh"] == [
                    models[-1].get(key) for key in "abcdefgh"
                ]
        for version in view.versions()[-3:]:
            with View(app.path, COUNTS, log=log, as_of=version) as old:
                assert (old.version, dict(old.items())) == (version, models[version])


def test_view_with_as_of_stays_at_its_version(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1)])
    app.put([("a", 2)])
    Savepoints(app.checkpoint, app.objects).create("then", FakeClock())
    app.put([("a", 3)])
    with View(tmp_path, COUNTS, as_of=0) as first, View(tmp_path, COUNTS, as_of="then") as then:
        app.put([("a", 4)])
        assert (first.get("a"), first.refresh(), then.get("a")) == (1, 0, 2)
        assert first.versions() == [0, 1, 2, 3]
    with pytest.raises(
        StoreError, match="version 9 of store 'counts' is not retained; retained are"
    ):
        View(tmp_path, COUNTS, as_of=9)


def test_iteration_holds_version_of_view_until_it_ends(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1), ("b", 1), ("c", 1)])
    with View(tmp_path, COUNTS) as view:
        scan = view.items()
        seen = [next(scan)]
        app.put([("a", 2), ("b", 2), ("c", 2)])
        assert (view.get("b"), view.refresh()) == (1, 0)
        seen += scan
        assert seen == [("a", 1), ("b", 1), ("c", 1)]
        assert view.get("b") == 2
        view.items()  # dropped without a step
        app.put([("b", 3)])
        assert view.get("b") == 3


def test_view_with_max_age_saves_requests(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1)])
    clock = FakeClock()
    with View(tmp_path, COUNTS, max_age=timedelta(seconds=5), clock=clock) as view:
        app.put([("a", 2)])
        assert view.get("a") == 1
        clock.advance(timedelta(seconds=5))
        assert view.get("a") == 2


def test_view_looks_up_keys_of_unknown_partition_in_all_partitions(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS, key=DOUBLE)
    app.commit(lambda store, partition: store.put(f"of {partition}", partition))
    with View(tmp_path, COUNTS) as view:
        assert [view.get(f"of {p}") for p in range(PARTITIONS)] == list(range(PARTITIONS))


def test_follow_reports_newest_version_and_stops(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 0)])
    seen: list[tuple[int, int | None]] = []
    come = threading.Condition()
    with View(tmp_path, COUNTS) as view:

        def note(version: int) -> None:
            with come:
                seen.append((version, view.get("a")))
                come.notify_all()

        with view.follow(note, poll=timedelta(milliseconds=2)):
            for value in range(1, 4):
                app.put([("a", value)])
                with come:
                    assert come.wait_for(lambda: seen and seen[-1][1] == value, 20)  # noqa: B023
        versions = [version for version, _ in seen]
        assert versions == sorted(set(versions))
        assert versions[-1] == 3


def test_failing_callback_ends_follow_of_view(tmp_path: Path) -> None:
    Committing(tmp_path, COUNTS).put([])
    ended = threading.Event()

    def fail(version: int) -> None:
        ended.set()
        raise ValueError(f"the callback rejects version {version}")

    with View(tmp_path, COUNTS) as view:
        following = view.follow(fail)
        assert ended.wait(20)
        with pytest.raises(ExecutionError, match="the callback rejects version 0"):
            following.close()
        following.close()


def test_view_of_missing_checkpoint_or_store_and_read_of_closed_view_raise(tmp_path: Path) -> None:
    with pytest.raises(NoCheckpointError, match="no checkpoint at"):
        View(tmp_path / "none", COUNTS)
    app = Committing(tmp_path, COUNTS)
    with pytest.raises(CheckpointMismatchError, match="did you mean 'counts'"):
        View(tmp_path, key_value_store("count", key=TEXT, value=INT64))
    with pytest.raises(CheckpointMismatchError, match="'value': 'int64'"):
        View(tmp_path, key_value_store("counts", key=TEXT, value=DOUBLE))
    with View(tmp_path, COUNTS) as view:
        assert (view.version, view.get("a"), list(view.items())) == (None, None, [])
        app.put([("a", 1)])
        assert view.get("a") == 1
    with pytest.raises(StoreError, match="is closed"):
        view.get("a")


def test_view_finds_app_by_its_id_like_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Committing(tmp_path / ".kstreams" / "shop", COUNTS).put([("a", 1)])
    with View("shop", COUNTS) as view:
        assert view.get("a") == 1
    Committing(tmp_path / "shop", COUNTS).put([("a", 2)])
    with View("shop", COUNTS) as view:  # then a directory of that name has priority
        assert view.get("a") == 2
    with pytest.raises(InvalidNameError):
        View(".hidden", COUNTS)


def test_view_read_of_damaged_version_raises(
    tmp_path: Path,
) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put((f"k{n}", n) for n in range(9))
    app.objects.delete([p.deltas[0].name for p in app.pointers.values()])
    with View(tmp_path, COUNTS) as view, pytest.raises(StateCorruptError, match="missing"):
        view.get("k1")


def test_view_of_reset_app_starts_over(tmp_path: Path) -> None:
    app = Committing(tmp_path / "c", COUNTS)
    app.put([("a", 1)])
    with View(tmp_path / "c", COUNTS) as view:
        assert view.get("a") == 1
        (tmp_path / "c").rename(tmp_path / "gone")
        with pytest.raises(NoCheckpointError):
            view.get("a")
        again = Committing(tmp_path / "c", COUNTS)
        assert view.get("a") is None
        again.put([("a", 5)])
        assert view.get("a") == 5


def test_view_leaves_no_files_and_changes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = Committing(tmp_path / "c", COUNTS)
    app.put([("a", 1)])
    before = {path: path.lstat().st_mtime_ns for path in (tmp_path / "c").rglob("*")}
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    with View(tmp_path / "c", COUNTS, backend=RocksDB()) as view:
        assert view.get("a") == 1
        assert list((tmp_path / "tmp").rglob("CURRENT"))
    assert list((tmp_path / "tmp").iterdir()) == []
    assert {path: path.lstat().st_mtime_ns for path in (tmp_path / "c").rglob("*")} == before


def test_view_reads_durable_log_outside_of_checkpoint(tmp_path: Path) -> None:
    log = home_of(tmp_path / "elsewhere").log
    app = Committing(tmp_path / "c", COUNTS, objects=log.open())
    app.put([("a", 1)])
    with View(tmp_path / "c", COUNTS, log=log) as view:
        assert view.get("a") == 1


def test_views_need_no_pyspark() -> None:
    program = "import sys, kstreams.views.view; sys.exit('pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.slow
def test_many_threads_may_share_view_while_app_commits(tmp_path: Path) -> None:
    log = LogInMemory()
    app = Committing(tmp_path, COUNTS, objects=log.objects)
    app.put((key, 0) for key in "abcdef")
    stop = threading.Event()
    wrong: list[object] = []
    with View(tmp_path, COUNTS, log=log) as view:

        def look() -> None:
            while not stop.is_set():
                values = {value for _, value in view.items()}
                if len(values) != 1:
                    wrong.append(values)

        threads = [threading.Thread(target=look) for _ in range(3)]
        for thread in threads:
            thread.start()
        for turn in range(1, 25):
            app.put((key, turn) for key in "abcdef")
            app.sweep(2)
        stop.set()
        for thread in threads:
            thread.join()
        assert (wrong, view.get("a")) == ([], 24)


def test_moved_log_is_not_read_as_empty_app(tmp_path: Path) -> None:
    app = Committing(tmp_path / "c", COUNTS)
    with View(tmp_path / "c", COUNTS) as view:  # an app that has not begun yet
        assert view.version is None
    begin_logs(app.checkpoint, app.objects, {})
    app.put([("apple", 5)])
    (tmp_path / "c" / "state").rename(tmp_path / "state")
    with pytest.raises(LogMismatchError, match="it is empty, but not"):
        View(tmp_path / "c", COUNTS)
    (tmp_path / "state").rename(tmp_path / "c" / "state")
    with View(tmp_path / "c", COUNTS) as view:
        assert view.get("apple") == 5
