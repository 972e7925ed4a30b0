"""The window store against a plain dict."""

from __future__ import annotations

import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kstreams import BYTES, DOUBLE, INT64, TEXT
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.window.kind import window_store
from kstreams.state.stores.window.store import WindowKeySerde, WindowStore

SPEC = window_store("w", key=BYTES, value=INT64)
KEYS = st.binary(max_size=3) | st.sampled_from([b"", b"\x00", b"\x00\x00", b"\xff", b"\xff\xff"])
STARTS = st.integers(-20, 20)
Model = dict[tuple[bytes, int], int]

steps = st.lists(
    st.tuples(KEYS, STARTS, st.none() | st.integers(0, 9)) | st.just("commit"), max_size=25
)


def opened() -> tuple[WindowStore[bytes, int], Overlay, MemoryStore]:
    base = MemoryStore(["w"])
    overlay = Overlay(base)
    return WindowStore(SPEC, overlay), overlay, base


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
        store.put(key, start, value)
        model.pop((key, start), None)
        if value is not None:
            model[key, start] = value
    return store, model


@given(steps, KEYS, st.none() | STARTS, st.none() | STARTS, st.booleans())
def test_a_keys_windows_come_in_order(
    changes: list[Any], key: bytes, low: int | None, high: int | None, reverse: bool
) -> None:
    store, model = filled(changes)
    for wanted in {key, *(k for k, _ in model)}:
        expected = sorted(
            (start, value)
            for (k, start), value in model.items()
            if k == wanted and (low is None or start >= low) and (high is None or start < high)
        )
        found = list(store.fetch(wanted, low, high, reverse=reverse))
        assert found == (expected[::-1] if reverse else expected)


@given(steps, st.none() | STARTS, st.none() | STARTS, st.booleans())
def test_all_windows_come_by_start_then_key(
    changes: list[Any], low: int | None, high: int | None, reverse: bool
) -> None:
    store, model = filled(changes)
    expected = sorted(
        (
            ((k, start), value)
            for (k, start), value in model.items()
            if (low is None or start >= low) and (high is None or start < high)
        ),
        key=lambda item: (item[0][1], item[0][0]),
        reverse=reverse,
    )
    assert list(store.fetch_all(low, high, reverse=reverse)) == expected


@given(steps, STARTS)
def test_dropping_what_is_old_leaves_the_rest(changes: list[Any], limit: int) -> None:
    store, model = filled(changes)
    store.drop_before(limit)
    assert dict(store.fetch_all()) == {h: v for h, v in model.items() if h[1] >= limit}


def test_a_value_has_a_time_its_windows_start_by_default() -> None:
    store, _, _ = opened()
    store.put(b"k", 5, 1)
    store.put(b"k", 6, 2, timestamp_ms=9)
    assert (store.get_stamped(b"k", 5), store.get_stamped(b"k", 6)) == ((1, 5), (2, 9))
    assert (store.get(b"k", 6), store.get(b"k", 7), store.get_stamped(b"k", 7)) == (2, None, None)


@given(st.lists(st.tuples(st.integers(-(1 << 63), (1 << 63) - 1), st.floats(allow_nan=False))))
def test_keys_sort_by_start_then_by_key(handles: list[tuple[int, float]]) -> None:
    serde = WindowKeySerde(DOUBLE)
    assert [serde.deserialize(serde.serialize(handle)) for handle in handles] == handles
    assert sorted(handles, key=serde.serialize) == sorted(handles, key=lambda h: (h[0], h[1] + 0.0))


def test_definitions_compare_and_pickle() -> None:
    assert pickle.loads(pickle.dumps(SPEC)) == SPEC == window_store("w", key=BYTES, value=INT64)
    other: Any = window_store("w", key=TEXT, value=INT64)
    assert other != SPEC
    assert SPEC.schema() == {"kind": "window", "key": "bytes", "value": "int64"}
    text: Any = WindowKeySerde(TEXT)
    assert text == WindowKeySerde(TEXT)
    assert text != WindowKeySerde(BYTES)


class Watched(MemoryStore):
    """Notes what is asked of it."""

    def __init__(self) -> None:
        super().__init__(["w"])
        self.asked: list[bytes] = []

    def get(self, store: str, key: bytes) -> bytes | None:
        self.asked.append(key)
        return super().get(store, key)


@given(steps)
def test_a_reader_gives_what_is_stored(changes: list[Any]) -> None:
    store, model = filled(changes)
    read, write = store.reader(), store.writer()
    for (key, start), value in model.items():
        assert read((start, key)) == (value, start)
    assert read((50, b"k")) is None
    write((50, b"k"), (1, 2))
    assert read((50, b"k")) == store.get_stamped(b"k", 50) == (1, 2)
    write((50, b"k"), None)
    assert read((50, b"k")) is None


def test_a_reader_does_not_look_for_windows_newer_than_any() -> None:
    base = Watched()
    overlay = Overlay(base)
    WindowStore(SPEC, overlay).put(b"k", 10, 1)
    base.write(overlay.changes())
    read = WindowStore(SPEC, Overlay(base)).reader()
    assert read((11, b"a")) is None
    assert base.asked == []
    assert read((10, b"a")) is None
    assert read((10, b"k")) == (1, 10)
    assert len(base.asked) == 2
