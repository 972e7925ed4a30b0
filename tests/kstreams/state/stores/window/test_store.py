"""The window store, compared with a dict."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import BYTES, DOUBLE, INT64, TEXT
from kstreams.durations import milliseconds
from kstreams.errors import SerializationError
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.window.kind import window_store
from kstreams.state.stores.window.rows import WindowKeySerde, WindowRows
from kstreams.state.stores.window.store import WindowStore
from kstreams.windowed import NEVER_ENDS, Windowed
from kstreams.windows import TumblingWindows

WINDOWS = TumblingWindows(milliseconds(7))
SPEC = window_store("w", key=BYTES, value=INT64, windows=WINDOWS)
KEYS = st.binary(max_size=3) | st.sampled_from([b"", b"\x00", b"\x00\x00", b"\xff", b"\xff\xff"])
STARTS = st.integers(-20, 20)
Model = dict[tuple[bytes, int], int]

steps = st.lists(
    st.tuples(KEYS, STARTS, st.none() | st.integers(0, 9)) | st.just("commit"), max_size=25
)


def at(key: bytes, start: int) -> Windowed[bytes]:
    return Windowed(key, start, start + 7)


def opened() -> tuple[WindowStore[bytes, int], Overlay, MemoryStore]:
    base = MemoryStore(["w"])
    overlay = Overlay(base)
    return SPEC.open(overlay), overlay, base


def filled(changes: list[Any]) -> tuple[WindowStore[bytes, int], Model]:
    store, overlay, base = opened()
    model: Model = {}
    for change in changes:
        if change == "commit":
            base.write(overlay.changes())
            overlay.committed()
            overlay.forget()
            continue
        key, start, value = change
        store.put(at(key, start), value)
        model.pop((key, start), None)
        if value is not None:
            model[key, start] = value
    return store, model


@given(steps, KEYS, st.none() | STARTS, st.none() | STARTS, st.booleans())
def test_fetch_returns_windows_of_key_in_order(
    changes: list[Any], key: bytes, low: int | None, high: int | None, reverse: bool
) -> None:
    store, model = filled(changes)
    for wanted in {key, *(k for k, _ in model)}:
        expected = [
            (at(k, start), value)
            for (k, start), value in sorted(model.items())
            if k == wanted and (low is None or start >= low) and (high is None or start < high)
        ]
        found = list(store.fetch(wanted, low, high, reverse=reverse))
        assert found == (expected[::-1] if reverse else expected)


@given(steps, st.none() | STARTS, st.none() | STARTS, st.booleans())
def test_fetch_all_returns_windows_by_start_and_key(
    changes: list[Any], low: int | None, high: int | None, reverse: bool
) -> None:
    store, model = filled(changes)
    expected = sorted(
        (
            (at(k, start), value)
            for (k, start), value in model.items()
            if (low is None or start >= low) and (high is None or start < high)
        ),
        key=lambda item: (item[0].start_ms, item[0].key),
        reverse=reverse,
    )
    assert list(store.fetch_all(low, high, reverse=reverse)) == expected


@given(steps, STARTS)
def test_drop_before_removes_only_older_windows(changes: list[Any], limit: int) -> None:
    store, model = filled(changes)
    WindowRows.of(store).drop_before(limit)
    assert dict(store.fetch_all()) == {at(*h): v for h, v in model.items() if h[1] >= limit}


def test_time_of_value_is_start_of_window_by_default() -> None:
    store, _, _ = opened()
    store.put(at(b"k", 5), 1)
    store.put(at(b"k", 6), 2, 9)
    read = WindowRows.of(store).reader()
    assert (read((5, b"k")), read((6, b"k")), read((7, b"k"))) == ((1, 5), (2, 9), None)
    assert (store.get(at(b"k", 6)), store.get(at(b"k", 7))) == (2, None)


def test_delete_of_window_returns_previous_value() -> None:
    store, _, _ = opened()
    store.put(at(b"k", 5), 1)
    assert (store.delete(at(b"k", 5)), store.delete(at(b"k", 5))) == (1, None)
    assert store.approximate_count() == 0


def test_window_that_the_definition_does_not_have_is_rejected() -> None:
    store, _, _ = opened()
    for use in (store.get, store.delete, lambda key: store.put(key, 1)):
        with pytest.raises(SerializationError, match="is not a window of TumblingWindows"):
            use(Windowed(b"k", 0, 8))
    assert list(store.fetch_all()) == []


def test_window_store_without_window_definition_returns_keys_without_end() -> None:
    store = window_store("w", key=BYTES, value=INT64).open(Overlay(MemoryStore(["w"])))
    store.put(Windowed(b"k", 5, 12), 1)
    assert list(store.fetch(b"k")) == [(Windowed(b"k", 5, NEVER_ENDS), 1)]
    assert store.get(Windowed(b"k", 5, 99)) == 1


@given(st.lists(st.tuples(st.integers(-(1 << 63), (1 << 63) - 1), st.floats(allow_nan=False))))
def test_keys_are_sorted_by_start_and_key(handles: list[tuple[int, float]]) -> None:
    serde = WindowKeySerde(DOUBLE)
    assert [serde.deserialize(serde.serialize(handle)) for handle in handles] == handles
    assert sorted(handles, key=serde.serialize) == sorted(handles, key=lambda h: (h[0], h[1] + 0.0))


def test_definitions_can_be_compared_and_pickled() -> None:
    assert pickle.loads(pickle.dumps(SPEC)) == SPEC
    assert window_store("w", key=BYTES, value=INT64, windows=WINDOWS) == SPEC
    other: Any = window_store("w", key=TEXT, value=INT64)
    assert other != SPEC
    assert SPEC.schema() == {"kind": "window", "key": "bytes", "value": "int64"}
    text: Any = WindowKeySerde(TEXT)
    assert text == WindowKeySerde(TEXT)
    assert text != WindowKeySerde(BYTES)


class Watched(MemoryStore):
    """Records the requests for keys."""

    def __init__(self) -> None:
        super().__init__(["w"])
        self.asked: list[bytes] = []

    def get(self, store: str, key: bytes) -> bytes | None:
        self.asked.append(key)
        return super().get(store, key)


@given(steps)
def test_reader_returns_stored_values(changes: list[Any]) -> None:
    store, model = filled(changes)
    rows: WindowRows[bytes, int] = WindowRows.of(store)
    read, write = rows.reader(), rows.writer()
    for (key, start), value in model.items():
        assert read((start, key)) == (value, start)
    assert read((50, b"k")) is None
    write((50, b"k"), (1, 2))
    assert read((50, b"k")) == (1, 2)
    assert store.get(at(b"k", 50)) == 1
    write((50, b"k"), None)
    assert read((50, b"k")) is None


def test_reader_does_not_look_up_windows_newer_than_all_stored() -> None:
    base = Watched()
    overlay = Overlay(base)
    SPEC.open(overlay).put(at(b"k", 10), 1)
    base.write(overlay.changes())
    read = WindowRows.of(SPEC.open(Overlay(base))).reader()
    assert read((11, b"a")) is None
    assert base.asked == []
    assert read((10, b"a")) is None
    assert read((10, b"k")) == (1, 10)
    assert len(base.asked) == 2
