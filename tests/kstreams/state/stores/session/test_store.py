"""The session store, compared with a dict."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import INT64, TEXT
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.session.rows import SessionRows
from kstreams.state.stores.session.store import SessionStore
from kstreams.windowed import Windowed

SPEC = session_store("s", key=TEXT, value=INT64)
KEYS = st.sampled_from(["", "a", "b", "\x00"])
TIMES = st.integers(-5, 15)
SPANS = st.tuples(TIMES, st.integers(0, 5)).map(lambda pair: (pair[0], pair[0] + pair[1]))
Model = dict[tuple[str, int, int], int]

changes_of = st.lists(
    st.tuples(KEYS, SPANS, st.none() | st.integers(0, 9)) | TIMES | st.just("commit"),
    max_size=25,
)


def filled(changes: list[Any]) -> tuple[SessionStore[str, int], Model]:
    base = MemoryStore(["s"])
    overlay = Overlay(base)
    store = SessionStore(SPEC, overlay)
    model: Model = {}
    for change in changes:
        if change == "commit":
            base.write(overlay.changes())
            overlay.committed()
            overlay.forget()
        elif isinstance(change, int):
            taken = SessionRows.of(store).take_ended(change)
            ended = {handle: value for handle, value in model.items() if handle[2] <= change}
            assert {(k, s, e): v for k, s, e, v in taken} == ended
            assert [t[2] for t in taken] == sorted(t[2] for t in taken)
            model = {handle: value for handle, value in model.items() if handle not in ended}
        else:
            key, (start, end), value = change
            store.put(Windowed(key, start, end), value)
            model.pop((key, start, end), None)
            if value is not None:
                model[key, start, end] = value
    return store, model


@given(changes_of, KEYS, TIMES, TIMES)
def test_find_sessions_returns_sessions_within_bounds(
    changes: list[Any], key: str, earliest_end: int, latest_start: int
) -> None:
    store, model = filled(changes)
    own = [(Windowed(*handle), v) for handle, v in sorted(model.items()) if handle[0] == key]
    found = store.find_sessions(key, earliest_end, latest_start)
    assert list(found) == [
        (window, value)
        for window, value in own
        if window.end_ms >= earliest_end and window.start_ms <= latest_start
    ]
    assert list(store.fetch(key)) == own
    assert list(store.fetch(key, reverse=True)) == own[::-1]
    assert [store.get(window) for window, _ in own] == [v for _, v in own]


@given(changes_of)
def test_next_timer_of_session_store_is_at_or_before_first_session_end(changes: list[Any]) -> None:
    store, model = filled(changes)
    timer = SessionRows.of(store).next_timer()
    ends = [end for _, _, end in model]
    assert (timer is None) == (not ends)
    assert timer is None or timer <= min(ends)
    assert list(store.fetch_all()) == [(Windowed(*h), v) for h, v in sorted(model.items())]
    assert list(store.fetch_all(reverse=True)) == list(store.fetch_all())[::-1]


def test_session_store_returns_each_ended_session_once() -> None:
    store, _ = filled([("a", (0, 5), 7), ("a", (9, 9), 3)])
    rows: SessionRows[str, int] = SessionRows.of(store)
    assert rows.take_ended(5) == [("a", 0, 5, 7)]
    assert rows.take_ended(8) == []
    assert rows.take_ended(9) == [("a", 9, 9, 3)]
    assert rows.next_timer() is None


def test_delete_of_session_returns_previous_value() -> None:
    store, _ = filled([("a", (0, 5), 7)])
    assert store.delete(Windowed("a", 0, 4)) is None
    assert store.delete(Windowed("a", 0, 5)) == 7
    assert store.delete(Windowed("a", 0, 5)) is None


def test_session_that_ends_before_its_start_is_rejected() -> None:
    store, _ = filled([])
    with pytest.raises(ValueError, match="before its start"):
        store.put(Windowed("a", 2, 1), 1)
