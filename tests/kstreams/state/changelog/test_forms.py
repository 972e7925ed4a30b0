"""Whatever batches do to a store, its changelog says it, and rebuilds it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import (
    INT64,
    TEXT,
    StoreSpec,
    TopologyError,
    key_value_store,
    list_store,
    session_store,
    timestamped_store,
    versioned_key_value_store,
    window_store,
)
from kstreams.errors import DeserializationError
from kstreams.state.buffer_store import buffer_store
from kstreams.state.changelog.form import Entry
from kstreams.state.changelog.forms import changelog_form
from kstreams.state.memory import MemoryStore
from kstreams.state.overlay import Overlay
from kstreams.state.sliding_store import sliding_store
from kstreams.state.times import FixedTimes

Change = tuple[int, int, int | None]
Step = Callable[[Any, Change], object]


def put(store: Any, change: Change) -> None:
    key, _, value = change
    store.put(key, value)


def put_stamped(store: Any, change: Change) -> None:
    key, time, value = change
    store.put(key, value, time)


def put_window(store: Any, change: Change) -> None:
    key, time, value = change
    store.put(key, time // 10 * 10, value, timestamp_ms=time)


def put_session(store: Any, change: Change) -> None:
    """Merge with what is near, as a session window does; None takes out what has ended."""
    key, time, value = change
    if value is None:
        store.take_ended(time)
        return
    near = [(start, end) for start, end, _ in store.find_sessions(key, time - 5, time + 5)]
    start, end = min([time, *(s for s, _ in near)]), max([time, *(e for _, e in near)])
    store.merge(key, near, start, end, value)


def rows(store: Any) -> list[Any]:
    return list(store.range())


def windows(store: Any) -> list[Any]:
    return list(store.scan())


def sessions(store: Any) -> list[Any]:
    return list(store.fetch_all())


def expiries(store: Any) -> list[Any]:
    return list(store.expiries())


def histories(store: Any) -> list[Any]:
    return [(key, list(store.history(key))) for key in range(5)]


TTL = timedelta(milliseconds=40)
KINDS: dict[str, tuple[StoreSpec[Any], Step, Callable[[Any], list[Any]]]] = {
    "key-value": (key_value_store("s", key=INT64, value=INT64), put, rows),
    "ttl": (key_value_store("s", key=INT64, value=INT64, ttl=TTL), put, expiries),
    "timestamped": (timestamped_store("s", key=INT64, value=INT64), put_stamped, rows),
    "window": (window_store("s", key=INT64, value=INT64), put_window, windows),
    "session": (session_store("s", key=INT64, value=INT64), put_session, sessions),
    "versioned": (
        versioned_key_value_store("s", key=INT64, value=INT64, retention=TTL),
        put_stamped,
        histories,
    ),
}
kinds = pytest.mark.parametrize("kind", KINDS)


class Logged:
    """A store, and the changelog that batches of changes to it make."""

    def __init__(self, spec: StoreSpec[Any]) -> None:
        self.spec = spec
        self.form = changelog_form(spec)
        self.base = MemoryStore([spec.name])
        self.log: list[Entry] = []
        self.time = 0

    def batch(self, step: Step, changes: Iterable[Change]) -> list[Entry]:
        overlay = Overlay(self.base)
        store = self.spec.factory(self.spec, overlay)
        for change in changes:
            self.time = max(self.time, change[1])
            overlay.times = FixedTimes(self.time, self.time)
            step(store, change)
        changed = overlay.changes()
        pairs = changed.get("s", ())
        entries = list(
            self.form.entries(pairs, lambda keys: self.base.multi_get("s", keys), self.time)
        )
        self.base.write(changed)
        self.log += entries
        return entries

    def whole(self) -> list[Entry]:
        pairs = list(self.base.scan("s", None, None))
        return list(self.form.entries(pairs, lambda keys: [None] * len(keys), self.time))

    def live(self, base: MemoryStore | None = None) -> Any:
        times = FixedTimes(self.time, self.time)
        return self.spec.factory(self.spec, Overlay(base or self.base, times=times))

    def rebuilt(self, entries: Iterable[Entry]) -> Any:
        base = MemoryStore(["s"])
        overlay = Overlay(base)
        store = self.spec.factory(self.spec, overlay)
        for entry in entries:
            self.form.put(store, entry)
        base.write(overlay.changes())
        return self.live(base)


changes = st.tuples(st.integers(0, 4), st.integers(1, 200), st.none() | st.integers(0, 5))
batches = st.lists(st.lists(changes, max_size=8), max_size=6)


@kinds
@given(given_batches=batches)
def test_a_changelog_rebuilds_its_store(kind: str, given_batches: list[list[Change]]) -> None:
    spec, step, look = KINDS[kind]
    logged = Logged(spec)
    for batch in given_batches:
        logged.batch(step, batch)
    expected = look(logged.live())
    assert look(logged.rebuilt(logged.log)) == expected
    assert look(logged.rebuilt(logged.whole())) == expected


@kinds
@given(given_batches=batches)
def test_compaction_leaves_what_holds(kind: str, given_batches: list[list[Change]]) -> None:
    spec, step, look = KINDS[kind]
    logged = Logged(spec)
    for batch in given_batches:
        logged.batch(step, batch)
    last = {entry.key: entry for entry in logged.log}
    kept = logged.rebuilt(entry for entry in logged.log if last[entry.key] is entry)
    if kind == "versioned":
        assert rows(kept) == rows(logged.live())
    else:
        assert look(kept) == look(logged.live())


def q(*numbers: int) -> bytes:
    return struct.pack(f">{len(numbers)}q", *numbers)


def test_a_batch_adds_the_last_value_of_each_key_in_the_serdes_of_topics() -> None:
    logged = Logged(KINDS["key-value"][0])
    logged.batch(put, [(1, 5, 1), (-1, 6, 2), (1, 7, 3)])
    assert logged.log == [Entry(q(-1), q(2), 7), Entry(q(1), q(3), 7)]
    assert logged.batch(put, [(1, 9, None), (2, 10, None)]) == [
        Entry(q(1), None, 10),
        Entry(q(2), None, 10),
    ]


def test_windows_have_the_keys_of_kafka_streams() -> None:
    logged = Logged(KINDS["window"][0])
    assert logged.batch(put_window, [(3, 25, 7)]) == [Entry(q(3, 20), q(7), 25)]


def test_a_growing_session_takes_the_place_of_the_one_it_swallows() -> None:
    logged = Logged(KINDS["session"][0])
    logged.batch(put_session, [(3, 20, 7), (3, 90, 1)])
    assert logged.batch(put_session, [(3, 24, 8)]) == [
        Entry(q(3, 20, 20), None, 90),
        Entry(q(3, 24, 20), q(8), 24),
    ]


def test_a_late_version_comes_before_the_one_that_holds() -> None:
    logged = Logged(KINDS["versioned"][0])
    logged.batch(put_stamped, [(3, 50, 5)])
    logged.batch(put_stamped, [(3, 40, 4)])
    assert logged.log == [Entry(q(3), q(n), n * 10) for n in (5, 4, 5)]
    assert logged.form.config == {
        "cleanup.policy": "compact",
        "min.compaction.lag.ms": str(24 * 60 * 60 * 1000 + 40),
    }


@pytest.mark.parametrize(
    "spec",
    [make("s", key=TEXT, value=INT64) for make in (list_store, buffer_store, sliding_store)],
    ids=lambda spec: spec.kind,
)
def test_other_kinds_have_none(spec: StoreSpec[Any]) -> None:
    with pytest.raises(TopologyError, match=f"is a {spec.kind} store, which has no changelog"):
        changelog_form(spec)


@pytest.mark.parametrize("kind", ["window", "session"])
def test_a_key_that_is_too_short_is_no_window(kind: str) -> None:
    logged = Logged(KINDS[kind][0])
    with pytest.raises(DeserializationError, match="behind a windowed key"):
        logged.rebuilt([Entry(b"abc", None, 1)])
