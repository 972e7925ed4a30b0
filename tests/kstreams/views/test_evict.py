"""`evict` removes a key from a view's local copy only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import INT64, TEXT
from kstreams.durations import milliseconds
from kstreams.errors import StoreKindError
from kstreams.partitioner import partition_of
from kstreams.state.backend.working import StateBackend
from kstreams.state.stores.kind import StoreKind
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from kstreams.state.stores.window.kind import window_store
from kstreams.stores import list_store
from kstreams.views.view import View
from kstreams.windowed import Windowed
from kstreams.windows import TumblingWindows
from tests.support.apps.committing_app import PARTITIONS, Committing
from tests.support.apps.counts_store import BACKENDS, COUNTS


@BACKENDS
def test_evict_hides_key_until_a_commit_writes_it(tmp_path: Path, backend: StateBackend) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1), ("b", 2), ("c", 3)])
    with View(tmp_path, COUNTS, backend=backend) as view, View(tmp_path, COUNTS) as other:
        view.evict("b")  # also restores the partition
        view.evict("absent")
        assert (view.get("b"), view.has("b"), list(view.items())) == (
            None,
            False,
            [("a", 1), ("c", 3)],
        )
        app.put([("c", 30)])
        assert list(view.items()) == [("a", 1), ("c", 30)]
        assert other.get("b") == 2
        app.put([("b", 20)])
        assert list(view.items()) == [("a", 1), ("b", 20), ("c", 30)]


def test_evict_does_not_change_open_iteration(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1), ("b", 2)])
    with View(tmp_path, COUNTS) as view:
        scan = view.items()
        view.evict("b")
        assert (view.get("b"), list(scan)) == (None, [("a", 1), ("b", 2)])


def test_evict_works_on_fixed_version_and_on_advancing_view(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1)])
    app.put([("a", 2)])
    with View(tmp_path, COUNTS, as_of=0) as old:
        old.evict("a")
        assert old.get("a") is None
    with View(tmp_path, COUNTS, advance_every=milliseconds(5)) as view:
        view.evict("a")
        assert view.get("a") is None


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(
    steps=st.lists(
        st.dictionaries(st.sampled_from("abcd"), st.none() | st.integers(0, 9), max_size=3)
        | st.sampled_from("abcd"),
        max_size=12,
    )
)
def test_evict_lasts_until_next_write_of_key_or_restore_of_copy(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    app = Committing(tmp_path_factory.mktemp("evict"), COUNTS)
    app.put([])
    rows: dict[str, int] = {}
    evicted: set[str] = set()
    with View(app.path, COUNTS) as view:
        assert list(view.items()) == []
        for step in steps:
            if isinstance(step, str):
                view.evict(step)
                evicted.add(step)
                assert step not in dict(view.items())
            else:
                app.put(step.items())
                after: dict[str, int | None] = {**rows, **step}
                rows = {key: value for key, value in after.items() if value is not None}
                evicted -= step.keys()
            shown = dict(view.items())
            assert {key: rows[key] for key in rows.keys() - evicted}.items() <= shown.items()
            assert shown.items() <= rows.items()
            evicted -= shown.keys()  # the copy was restored


_TENS = TumblingWindows(milliseconds(10))
_KINDS: list[tuple[StoreSpec[Any], Any, Any]] = [
    (
        timestamped_store("t", key=TEXT, value=INT64),
        lambda store, key: store.put(key, 1, 5),
        lambda key: key,
    ),
    (
        list_store("l", key=TEXT, value=INT64),
        lambda store, key: store.extend(key, range(9)),
        lambda key: key,
    ),
    (
        versioned_key_value_store("v", key=TEXT, value=INT64, retention=milliseconds(90)),
        lambda store, key: [store.put(key, 1, 5), store.put(key, 2, 9), store.put(key, None, 11)],
        lambda key: key,
    ),
    (
        window_store("w", key=TEXT, value=INT64, windows=_TENS),
        lambda store, key: store.put(Windowed(key, 0, 10), 1, 5),
        lambda key: Windowed(key, 0, 10),
    ),
    (
        session_store("s", key=TEXT, value=INT64),
        lambda store, key: store.put(Windowed(key, 0, 10), 1),
        lambda key: Windowed(key, 0, 10),
    ),
]


@pytest.mark.parametrize(("spec", "put", "key_of"), _KINDS, ids=lambda x: getattr(x, "name", ""))
def test_evict_removes_all_rows_of_key(
    tmp_path: Path, spec: StoreSpec[Any], put: Any, key_of: Any
) -> None:
    app = Committing(tmp_path, spec)

    def change(store: Any, partition: int) -> None:
        for key in "ab":
            if partition_of(key.encode(), PARTITIONS) == partition:
                put(store, key)

    app.commit(change)
    with View(tmp_path, spec) as view, View(tmp_path, spec) as whole:
        view.evict(key_of("a"))
        assert view.get(key_of("a")) == spec.kind.absent
        assert view.get(key_of("b")) == whole.get(key_of("b"))
        rows = view.read(lambda stores: [row for store in stores for row in rows_of(store)])
        assert [row for row in rows if "'a'" in repr(row)] == []
        assert [row for row in rows if "'b'" in repr(row)]
    if isinstance(spec.kind, type(_KINDS[2][0].kind)):
        with View(tmp_path, spec) as view:
            assert len(list(view.history("a"))) == 2
            view.evict("a")
            assert list(view.history("a")) == []


def rows_of(store: Any) -> Any:
    """Return all entries of a live store."""
    rows = store._rows
    overlay = getattr(rows, "_store", None) or getattr(rows, "overlay", None) or rows._rows
    return overlay.scan(None, None)


class _Odd(StoreKind[Any]):
    def open(self, spec: StoreSpec[Any], overlay: Any) -> Any:
        raise NotImplementedError


def test_evict_of_unsupported_kind_raises() -> None:
    with pytest.raises(StoreKindError, match=r"kind 'odd' cannot be evicted"):
        _Odd("odd").evict(None, "a")
