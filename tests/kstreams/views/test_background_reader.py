"""Views that advance in the background: complete versions, kept while they are read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams.checkpoint.storage.named_home import home_of
from kstreams.clock import SystemClock
from kstreams.errors import NoCheckpointError, StateCorruptError, StoreError
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.working import StateBackend
from kstreams.views.reader import Reader
from kstreams.views.reader_settings import ReaderSettings
from kstreams.views.state_source import CheckpointSource
from kstreams.views.view import View
from tests.support.apps.committing_app import PARTITIONS, Committing, LogInMemory
from tests.support.apps.counts_store import BACKENDS, CHANGES, COUNTS
from tests.support.storage.counting_object_store import ObjectDict

_SOON = timedelta(milliseconds=2)


def _until(condition: Callable[[], bool]) -> None:
    for _ in range(5000):
        if condition():
            return
        time.sleep(0.002)
    raise AssertionError("it does not happen")


def _advancing_reader(path: Path, log: Any = None, *, kept: int = 0) -> Reader[Any]:
    settings_ = ReaderSettings(
        CheckpointSource(home_of(path), log),
        None,
        0,
        None,
        None,
        SystemClock(),
        in_background=True,
        kept=kept,
    )
    return Reader(COUNTS, settings_)


@BACKENDS
def test_advancing_view_shows_new_commits(tmp_path: Path, backend: StateBackend) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1), ("b", 2)])
    with View(tmp_path, COUNTS, backend=backend, advance_every=_SOON) as view:
        assert (view.get("a"), view.version) == (1, 0)
        app.put([("a", 3), ("b", None), ("c", 4)])
        _until(lambda: view.version == 1)
        assert (view.get("a"), view.get("b"), list(view.items())) == (3, None, [("a", 3), ("c", 4)])


class _Slow(ObjectDict):
    """Blocks deltas for the thread that advances a view until `go` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.go.set()
        self.asked = threading.Event()

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        in_background = threading.current_thread().name == "kstreams-view"
        if in_background and name.endswith(".delta") and not self.go.is_set():
            self.asked.set()
            assert self.go.wait(20)
        return super().get(name, start, length)


class _SlowLog:
    def __init__(self) -> None:
        self.objects = _Slow()

    def open(self) -> ObjectStore:
        return self.objects


def test_reads_do_not_wait_while_commit_is_decoded(tmp_path: Path) -> None:
    log = _SlowLog()
    app = Committing(tmp_path, COUNTS, objects=log.objects)
    app.put([("a", 1)])
    with View(tmp_path, COUNTS, log=log, advance_every=_SOON) as view:
        assert list(view.items()) == [("a", 1)]
        log.objects.go.clear()
        app.put([("a", 2)])
        assert log.objects.asked.wait(20)
        assert (view.get("a"), view.version, list(view.items())) == (1, 0, [("a", 1)])
        log.objects.go.set()
        _until(lambda: view.version == 1)
        assert view.get("a") == 2


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(changes=CHANGES, held=st.sets(st.integers(0, 13)), sweeps=st.sets(st.integers(0, 13)))
def test_pinned_version_is_unchanged_by_later_commits(
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[dict[str, int | None]],
    held: set[int],
    sweeps: set[int],
) -> None:
    log = LogInMemory()
    app = Committing(tmp_path_factory.mktemp("view"), COUNTS, objects=log.objects)
    app.put([])
    model: dict[str, int | None] = {}
    scans: list[tuple[Iterator[tuple[str, int]], list[tuple[str, int | None]]]] = []
    reader = _advancing_reader(app.path, log)

    def rows(stores: Sequence[Any]) -> list[tuple[str, int]]:
        return sorted(row for store in stores for row in store.range())

    everywhere = range(PARTITIONS)
    reader.read(everywhere, rows)
    for number, change in enumerate(changes):
        app.put(change.items())
        model = {k: v for k, v in {**model, **change}.items() if v is not None}
        reader.advance()
        assert reader.read(everywhere, rows) == sorted(model.items())
        if number in held:  # nothing but the reference keeps the version
            pinned = reader.pin(None)
            assert pinned is not None
            scan = pinned.scan(everywhere, lambda s: iter([i for x in s for i in x.range()]))
            lazy = pinned.scan(everywhere, lambda s: (i for x in s for i in x.range()))
            scans += [(scan, sorted(model.items())), (lazy, sorted(model.items()))]
        if number in sweeps:
            app.sweep(3)
    for found, expected in scans:
        assert sorted(found) == expected
    reader.close()


def test_error_of_advancing_view_is_raised_and_view_recovers(tmp_path: Path) -> None:
    app = Committing(tmp_path / "c", COUNTS)
    app.put([("a", 1)])
    reader = _advancing_reader(tmp_path / "c")
    one = range(PARTITIONS)
    assert reader.read(one, lambda stores: [s.get("a") for s in stores]).count(1) == 1
    (tmp_path / "c").rename(tmp_path / "gone")
    reader.advance()
    with pytest.raises(NoCheckpointError):
        reader.read(one, len)
    Committing(tmp_path / "c", COUNTS).put([("a", 5)])
    reader.advance()
    assert reader.read(one, lambda stores: [s.get("a") for s in stores]).count(5) == 1
    reader.close()


def test_reads_of_advancing_view_raise_after_damaged_delta(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1)])
    reader = _advancing_reader(tmp_path)
    reader.read(range(PARTITIONS), len)
    app.put((f"k{n}", n) for n in range(9))
    app.objects.delete([p.deltas[-1].name for p in app.pointers.values()])
    assert reader.advance() == 1
    with pytest.raises(StateCorruptError, match="missing"):
        reader.read(range(PARTITIONS), len)
    reader.close()


def test_requested_number_of_earlier_versions_is_kept(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 0)])
    reader = _advancing_reader(tmp_path, kept=2)

    def values(at: int | None = None) -> list[int]:
        pinned = reader.pin(None, at)
        assert pinned is not None
        return pinned.read(
            range(PARTITIONS), lambda stores: [v for s in stores for _, v in s.range()]
        )

    assert reader.pin(None) is None  # nothing is restored yet
    reader.restore(range(PARTITIONS))
    assert values() == [0]
    for value in range(1, 5):
        app.put([("a", value)])
        reader.advance()
    assert (values(), values(3), values(2)) == ([4], [3], [2])
    assert [batch for batch in range(5) if reader.has(batch)] == [2, 3, 4]
    with pytest.raises(StoreError, match="view of store 'counts' does not keep version 1"):
        values(1)
    reader.close()
