"""The changelog of any sequence of batches rebuilds the store."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Record, key_value_store, timestamped_store
from kstreams.errors import DeserializationError
from kstreams.errors.building import TopologyError
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.working import StoreChanges
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.store_overlay import StoreOverlay
from kstreams.state.cache.times import FixedTimes
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.buffer.rows import BufferRows
from kstreams.state.stores.buffered import BufferedState
from kstreams.state.stores.changelog_form import ChangelogRecord
from kstreams.state.stores.emit_buffer.kind import emit_buffer_store
from kstreams.state.stores.emit_buffer.rows import EmitBufferRows
from kstreams.state.stores.join.kind import join_store
from kstreams.state.stores.key_value.expiring import ExpiringRows
from kstreams.state.stores.kind import StoreKind
from kstreams.state.stores.queue.kind import queue_store
from kstreams.state.stores.queue.rows import QueueRows
from kstreams.state.stores.rate_limit.kind import rate_limit_store
from kstreams.state.stores.rate_limit.rows import RateLimitRows
from kstreams.state.stores.session.rows import SessionRows
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.sliding.rows import SlidingRows
from kstreams.state.stores.window.rows import WindowRows
from kstreams.stores import (
    StoreSpec,
    list_store,
    session_store,
    versioned_key_value_store,
    window_store,
)
from kstreams.windowed import Windowed
from tests.kstreams.state.stores.join import join_store_changes as joins

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
    start = time // 10 * 10
    store.put(Windowed(key, start, start + 10), value, time)


def put_session(store: Any, change: Change) -> None:
    """Merge with near sessions, like a session window; None removes expired ones."""
    key, time, value = change
    if value is None:
        SessionRows.of(store).take_ended(time)
        return
    near = [window for window, _ in store.find_sessions(key, time - 5, time + 5)]
    for window in near:
        store.delete(window)
    start = min([time, *(window.start_ms for window in near)])
    end = max([time, *(window.end_ms for window in near)])
    store.put(Windowed(key, start, end), value)


def put_list(store: Any, change: Change) -> None:
    """Append elements; None removes some."""
    key, time, value = change
    if value is None:
        store.take_first(key, 1 + time % 4)
    else:
        store.extend(key, range(value))


def put_slice(store: Any, change: Change) -> None:
    """Add a slice; None deletes all slices of a key."""
    key, time, value = change
    rows: SlidingRows[int, Any] = SlidingRows.of(store)
    slices = {**dict(rows.slices(key)), time: value}
    found = () if value is None else tuple(sorted(slices.items()))
    rows.put(key, found, done_ms=time // 2, timer_ms=time)


def put_kept(store: Any, change: Change) -> None:
    """Buffer a record, at 0 a tombstone; None releases one."""
    key, time, value = change
    rows: BufferRows[int, int | None] = BufferRows.of(store)
    if value is not None:
        rows.put(Record(key, value or None, time, (("h", b"x"), ("n", None))), time)
    elif time % 2:
        rows.take_first()
    else:
        rows.delete(key)


def put_paced(store: Any, change: Change) -> None:
    """Buffer a window, or begin the interval of a key; None deletes."""
    key, time, value = change
    rows: RateLimitRows[int, int] = RateLimitRows.of(store)
    if value is None:
        rows.delete(key)
    elif value % 2:
        rows.forwarded(key, time, 50)
    else:
        rows.hold_back(key, time, ((0, 10, BufferedState(value, time, emitted=False)),))


def put_pending(store: Any, change: Change) -> None:
    """Buffer a result; None releases due ones, and 5 moves the time."""
    key, time, value = change
    rows: EmitBufferRows[int, int] = EmitBufferRows.of(store)
    if value is None:
        rows.take_until(time)
    elif value == 5:
        rows.bring_forward(time)
    else:
        state = BufferedState(value or None, time, emitted=True)
        rows.writer()((time // 50 * 50, -10, 10, key), state)


def put_queued(store: Any, change: Change) -> None:
    """Buffer a record; None releases due ones, and 5 removes it."""
    key, time, value = change
    rows: QueueRows[int, int] = QueueRows.of(store)
    if value is None:
        rows.drop_before(time)
    elif value == 5:
        rows.release(time)
    else:
        rows.put(Record(key, value, time, (("h", b"x"),)))


def queued(store: Any) -> list[Any]:
    rows: QueueRows[int, int] = QueueRows.of(store)
    return [rows.progress(), *store.fetch_all()]


def rows(store: Any) -> list[Any]:
    return list(store.range())


def windows(store: Any) -> list[Any]:
    return list(WindowRows.of(store).scan())


def sessions(store: Any) -> list[Any]:
    return list(store.fetch_all())


def expiries(store: Any) -> list[Any]:
    return list(ExpiringRows.of(store).expiries())


def histories(store: Any) -> list[Any]:
    return [(key, list(store.history(key))) for key in range(5)]


def lists(store: Any) -> list[Any]:
    return [list(store.lengths()), *((key, store.get(key)) for key in range(5))]


def slices(store: Any) -> list[Any]:
    rows: SlidingRows[int, int] = SlidingRows.of(store)
    return [*rows.due(1_000), *((key, rows.get(key)) for key in range(5))]


def kept(store: Any) -> list[Any]:
    rows: BufferRows[int, int] = BufferRows.of(store)
    return [rows.count(), *rows.take_until(1_000)]


def paced(store: Any) -> list[Any]:
    rows: RateLimitRows[int, int] = RateLimitRows.of(store)
    return [*rows.due(1_000), *((key, rows.get(key)) for key in range(5))]


def pending(store: Any) -> list[Any]:
    return list(EmitBufferRows.of(store).take_until(None))


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
    "list": (list_store("s", key=INT64, value=INT64), put_list, lists),
    "sliding": (sliding_store("s", key=INT64, value=INT64), put_slice, slices),
    "buffer": (buffer_store("s", key=INT64, value=INT64, nullable=True), put_kept, kept),
    "paced": (rate_limit_store("s", key=INT64, value=INT64), put_paced, paced),
    "pending": (emit_buffer_store("s", key=INT64, value=INT64), put_pending, pending),
}
for name, remember in (("join", joins.put_remembered), ("join-blocks", joins.put_packed)):
    KINDS[name] = (join_store("s", key=INT64, left=INT64, right=INT64), remember, joins.remembered)
KINDS["queue"] = (queue_store("s", key=INT64, value=INT64), put_queued, queued)
kinds = pytest.mark.parametrize("kind", KINDS)


class Logged:
    """A store, and the changelog of batches of its changes."""

    def __init__(self, spec: StoreSpec[Any]) -> None:
        self.spec = spec
        self.form = spec.changelog_form()
        self.base = MemoryStore([spec.name])
        self.log: list[ChangelogRecord] = []
        self.time = 0

    def batch(self, step: Step, changes: Iterable[Change]) -> list[ChangelogRecord]:
        overlay = Overlay(self.base)
        store = self.spec.open(overlay)
        for change in changes:
            self.time = max(self.time, change[1])
            overlay.times = FixedTimes(self.time, self.time)
            step(store, change)
        changed = overlay.changes()
        found = changed.get("s", StoreChanges())
        gone: dict[bytes, bytes | None] = dict.fromkeys(overlay.stored_in("s", found.ranges))
        pairs = sorted({**gone, **dict(found.pairs)}.items())
        entries = list(
            self.form.records(pairs, lambda keys: self.base.multi_get("s", keys), self.time)
        )
        self.base.write(changed)
        self.log += entries
        return entries

    def whole(self) -> list[ChangelogRecord]:
        pairs = list(self.base.scan("s", None, None))
        return list(self.form.records(pairs, lambda keys: [None] * len(keys), self.time))

    def live(self, base: MemoryStore | None = None) -> Any:
        times = FixedTimes(self.time, self.time)
        return self.spec.open(Overlay(base or self.base, times=times))

    def rebuilt(self, entries: Iterable[ChangelogRecord]) -> Any:
        base = MemoryStore(["s"])
        overlay = Overlay(base)
        restore = self.form.restoring(overlay)
        for entry in entries:
            restore(entry)
        base.write(overlay.changes())
        return self.live(base)


changes = st.tuples(st.integers(0, 4), st.integers(1, 200), st.none() | st.integers(0, 5))
batches = st.lists(st.lists(changes, max_size=8), max_size=6)


@pytest.mark.long
@kinds
@given(given_batches=batches)
def test_changelog_rebuilds_its_store(kind: str, given_batches: list[list[Change]]) -> None:
    spec, step, look = KINDS[kind]
    logged = Logged(spec)
    for batch in given_batches:
        logged.batch(step, batch)
    expected = look(logged.live())
    assert look(logged.rebuilt(logged.log)) == expected
    assert look(logged.rebuilt(logged.whole())) == expected


@pytest.mark.parametrize(
    "second",
    [
        [(0, 41, None), (1, 1, None)],
        [(1, 30, None), (0, 200, 0)],
        [(1, 20, 2), (1, 30, 3), (1, 40, None), (0, 200, 0)],
    ],
)
def test_deletion_removed_by_retention_within_its_batch_is_in_changelog(
    second: list[Change],
) -> None:
    spec, step, _ = KINDS["versioned"]
    logged = Logged(spec)
    for batch in ([(1, 1, 0)], second):
        logged.batch(step, batch)
    expected = rows(logged.live())
    assert 1 not in dict(expected)
    assert rows(logged.rebuilt(logged.log)) == expected
    last = {entry.key: entry for entry in logged.log}
    assert rows(logged.rebuilt(last.values())) == expected


@pytest.mark.long
@kinds
@given(given_batches=batches)
def test_compacted_changelog_rebuilds_current_contents_of_store(
    kind: str, given_batches: list[list[Change]]
) -> None:
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


def test_changelog_has_last_value_of_each_key_of_batch_in_topic_serdes() -> None:
    logged = Logged(KINDS["key-value"][0])
    logged.batch(put, [(1, 5, 1), (-1, 6, 2), (1, 7, 3)])
    assert logged.log == [ChangelogRecord(q(-1), q(2), 7), ChangelogRecord(q(1), q(3), 7)]
    assert logged.batch(put, [(1, 9, None), (2, 10, None)]) == [
        ChangelogRecord(q(1), None, 10),
        ChangelogRecord(q(2), None, 10),
    ]


def test_changelog_keys_of_windows_equal_those_of_kafka_streams() -> None:
    logged = Logged(KINDS["window"][0])
    assert logged.batch(put_window, [(3, 25, 7)]) == [ChangelogRecord(q(3, 20), q(7), 25)]


def test_changelog_of_growing_session_deletes_merged_session() -> None:
    logged = Logged(KINDS["session"][0])
    logged.batch(put_session, [(3, 20, 7), (3, 90, 1)])
    assert logged.batch(put_session, [(3, 24, 8)]) == [
        ChangelogRecord(q(3, 20, 20), None, 90),
        ChangelogRecord(q(3, 24, 20), q(8), 24),
    ]


def test_changelog_has_late_version_before_present_version() -> None:
    logged = Logged(KINDS["versioned"][0])
    logged.batch(put_stamped, [(3, 50, 5)])
    logged.batch(put_stamped, [(3, 40, 4)])
    assert logged.log == [ChangelogRecord(q(3), q(n), n * 10) for n in (5, 4, 5)]
    assert logged.form.config == {
        "cleanup.policy": "compact",
        "min.compaction.lag.ms": str(24 * 60 * 60 * 1000 + 40),
    }


def test_changelog_key_of_list_element_ends_with_element_number() -> None:
    logged = Logged(KINDS["list"][0])
    assert logged.batch(put_list, [(3, 7, 3)]) == [
        ChangelogRecord(q(3, n), q(n), 7) for n in range(3)
    ]
    # Removed elements are logged before added ones, also when a short list becomes a long one.
    changed = [(3, 8, None), (3, 8, 4)]
    assert logged.batch(put_list, changed) == [
        ChangelogRecord(q(3, 0), None, 8),
        *(ChangelogRecord(q(3, n), q(n - 3), 8) for n in range(3, 7)),
    ]


def test_changelog_key_of_waiting_result_ends_with_its_times() -> None:
    logged = Logged(KINDS["pending"][0])
    (entry,) = logged.batch(put_pending, [(3, 60, 7)])
    assert (entry.key, entry.value) == (q(3, 50, -10, 10), b"\x03" + q(60, 7))


class CustomKind(StoreKind[StoreOverlay]):
    """A store kind that defines only `open`."""

    def open(self, spec: StoreSpec[StoreOverlay], overlay: Overlay) -> StoreOverlay:
        return overlay.store(spec.name, spec.key, spec.value)


def test_kind_without_changelog_form_is_rejected() -> None:
    spec = StoreSpec("s", CustomKind("own"), TEXT, INT64)
    with pytest.raises(TopologyError, match="is of kind 'own', which does not support changelogs"):
        spec.changelog_form()


@pytest.mark.parametrize("kind", ["window", "session", "list", "pending"])
def test_key_too_short_for_window_is_rejected(kind: str) -> None:
    logged = Logged(KINDS[kind][0])
    with pytest.raises(DeserializationError, match="a windowed key is cut short"):
        logged.rebuilt([ChangelogRecord(b"abc", None, 1)])
