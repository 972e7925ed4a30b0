"""Callbacks that receive the changed rows of each version."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import INT64, TEXT
from kstreams.durations import milliseconds
from kstreams.errors import ExecutionError, StoreKindError
from kstreams.partitioner import partition_of
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from kstreams.state.stores.versioned.store import VersionedValue
from kstreams.state.stores.window.kind import window_store
from kstreams.stores import key_value_store, list_store
from kstreams.views import RowChange, RowChanges
from kstreams.views.row_changes import VersionSteps
from kstreams.views.view import View
from tests.support.apps.committing_app import PARTITIONS, Committing, LogInMemory
from tests.support.apps.counts_store import CHANGES, COUNTS

_POLL = milliseconds(5)


class _Seen:
    """Collects the calls of a callback."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, bool, list[RowChange[str, Any]]]] = []
        self._changed = threading.Condition()

    def __call__(self, changes: RowChanges[str, Any]) -> None:
        found = changes.version, changes.complete, list(changes)
        with self._changed:
            self.calls.append(found)
            self._changed.notify_all()

    def wait(self, done: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(done, 20)


def _sorted(rows: list[RowChange[str, Any]]) -> list[RowChange[str, Any]]:
    return sorted(rows, key=lambda row: row.key)


def test_follow_rows_reports_all_rows_first_and_then_changed_rows(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1), ("b", 2), ("c", 3)])
    seen = _Seen()
    with View(tmp_path, COUNTS) as view, view.follow_rows(seen, poll=_POLL):
        seen.wait(lambda: len(seen.calls) == 1)
        app.put([("a", 10), ("b", None), ("c", 3), ("d", 4)])
        seen.wait(lambda: len(seen.calls) == 2)
    (first, complete, rows), (second, partly, changed) = seen.calls
    assert (first, complete, second, partly) == (0, True, 1, False)
    assert _sorted(rows) == [RowChange(k, None, v) for k, v in zip("abc", (1, 2, 3), strict=True)]
    assert _sorted(changed) == [
        RowChange("a", 1, 10),
        RowChange("b", 2, None),
        RowChange("d", None, 4),
    ]


def test_follow_rows_starts_over_after_reset(tmp_path: Path) -> None:
    app = Committing(tmp_path / "app", COUNTS)
    app.put([("a", 1)])
    app.put([("a", 2)])
    with View(tmp_path / "app", COUNTS) as view:
        steps: VersionSteps[Any] = VersionSteps(view.spec, view._versions.hold)
        assert steps.next(lambda store, key: store.get(key)) is not None
        (tmp_path / "app").rename(tmp_path / "before")
        fresh = Committing(tmp_path / "new", COUNTS)
        fresh.put([("z", 9)])
        (tmp_path / "new").rename(tmp_path / "app")
        view.refresh()
        found: RowChanges[str, Any] | None = steps.next(lambda store, key: store.get(key))
        assert found is not None
        assert (found.version, found.complete) == (0, True)
        assert list(found) == [RowChange("z", None, 9)]


def test_follow_rows_starts_over_after_upgrade_dropped_local_copies(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1)])
    with View(tmp_path, COUNTS) as view:
        steps: VersionSteps[Any] = VersionSteps(view.spec, view._versions.hold)
        assert steps.next(lambda store, key: store.get(key)) is not None
        reader: Any = view._versions
        reader._begin_again()  # as if the checkpoint had another shape
        app.put([("b", 2)])
        view.refresh()
        found: RowChanges[str, Any] | None = steps.next(lambda store, key: store.get(key))
        assert found is not None
        assert found.complete
        assert _sorted(list(found)) == [RowChange("a", None, 1), RowChange("b", None, 2)]


def test_follow_rows_compares_versions_after_restore_of_local_copy(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put((f"k{n}", n) for n in range(40))
    with View(tmp_path, COUNTS) as view:
        steps: VersionSteps[Any] = VersionSteps(view.spec, view._versions.hold)
        assert steps.next(lambda store, key: store.get(key)) is not None
        for number in range(
            30
        ):  # snapshots between the versions: no deltas lead to the newest version
            app.put([("k1", number), ("k2", None), (f"new{number % 3}", number)])
        view.refresh()
        found: RowChanges[str, Any] | None = steps.next(lambda store, key: store.get(key))
        assert found is not None
        assert not found.complete
        assert _sorted(list(found)) == [
            RowChange("k1", 1, 29),
            RowChange("k2", 2, None),
            RowChange("new0", None, 27),
            RowChange("new1", None, 28),
            RowChange("new2", None, 29),
        ]


def test_follow_rows_raises_error_of_callback(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1)])

    def fails(changes: RowChanges[str, int | None]) -> None:
        raise ValueError("no")

    with View(tmp_path, COUNTS) as view:
        following = view.follow_rows(fails, poll=_POLL)
        while following.failure is None:
            pass
        with pytest.raises(
            ExecutionError,
            match="the callback that follows the view, or a read of the view, failed: no",
        ):
            following.close()


def test_follow_rows_rejects_stores_whose_rows_it_cannot_report(tmp_path: Path) -> None:
    windows = window_store("w", key=TEXT, value=INT64)
    Committing(tmp_path, windows).put([])
    with (
        View(tmp_path, windows) as view,
        pytest.raises(StoreKindError, match="kind 'window' cannot be reported"),
    ):
        view.follow_rows(_Seen())  # type: ignore[arg-type]  # typed by text keys


def _mirror(app: Committing, view: View[Any], looks: set[int], changes: list[Any]) -> None:
    """Follow step by step, and compare a dictionary built from the rows with the view."""
    steps: VersionSteps[Any] = VersionSteps(view.spec, view._versions.hold)
    model: dict[str, int] = {}
    for number, change in enumerate(changes):
        app.put(change.items())
        if number % 4 == 3:
            app.sweep(3)
        if number not in looks:
            continue
        view.refresh()
        found: RowChanges[str, int | None] | None = steps.next(lambda store, key: store.get(key))
        if found is None:
            continue
        if found.complete:
            model = {}
        for row in found:
            assert row.old == model.get(row.key)
            assert row.old != row.new
            if row.new is None:
                del model[row.key]
            else:
                model[row.key] = row.new
        assert model == dict(view.items())


@pytest.mark.long
@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(changes=CHANGES, looks=st.sets(st.integers(0, 13)))
def test_dictionary_built_from_followed_rows_equals_store(
    tmp_path_factory: pytest.TempPathFactory, changes: list[Any], looks: set[int]
) -> None:
    log = LogInMemory()
    app = Committing(tmp_path_factory.mktemp("rows"), COUNTS, objects=log.objects)
    with View(app.path, COUNTS, log=log) as view:
        _mirror(app, view, looks, changes)


_STORES: list[tuple[Any, Any, Any, Any]] = [
    (
        timestamped_store("t", key=TEXT, value=INT64),
        lambda store, key, n: store.put(key, n, 100 + n),
        lambda n: (n, 100 + n),
        None,
    ),
    (
        key_value_store("e", key=TEXT, value=INT64, ttl=milliseconds(50)),
        lambda store, key, n: store.put(key, n),
        lambda n: n,
        None,
    ),
    (
        list_store("l", key=TEXT, value=INT64),
        lambda store, key, n: store.extend(key, range(4 * n)),
        lambda n: (0, 1, 2, 3) if n == 1 else (0, 1, 2, 3, *range(8)),
        (),
    ),
    (
        versioned_key_value_store("v", key=TEXT, value=INT64, retention=milliseconds(90)),
        lambda store, key, n: store.put(key, n, 100 + n),
        lambda n: VersionedValue(n, 100 + n, None),
        None,
    ),
]


@pytest.mark.parametrize(("spec", "put", "value", "absent"), _STORES, ids=lambda x: str(x)[:20])
def test_rows_of_other_store_kinds_are_reported(
    tmp_path: Path, spec: Any, put: Any, value: Any, absent: Any
) -> None:
    app = Committing(tmp_path, spec)

    def putting(key: str, number: int) -> None:
        def change(store: Any, partition: int) -> None:
            if partition_of(key.encode(), PARTITIONS) == partition:
                put(store, key, number)

        app.commit(change)

    putting("a", 1)
    with View(tmp_path, spec) as view:
        steps: VersionSteps[Any] = VersionSteps(spec, view._versions.hold)

        def found() -> list[RowChange[str, Any]]:
            view.refresh()
            changes: RowChanges[str, Any] | None = steps.next(lambda store, key: store.get(key))
            return [] if changes is None else list(changes)

        assert found() == [RowChange("a", absent, value(1))]
        putting("a", 2)
        assert found() == [RowChange("a", value(1), value(2))]
        assert found() == []
        view.evict("a")
        putting("b", 1)
        assert found() == [RowChange("b", absent, value(1))]
