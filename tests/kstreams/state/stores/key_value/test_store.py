"""The typed key-value store."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import BYTES, INT64, TEXT, Serde
from kstreams.errors import SerializationError
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.key_value.store import KeyValueStore


def store_of(
    key: Serde[Any], value: Serde[Any], pairs: dict[Any, Any] | None = None
) -> KeyValueStore[Any, Any]:
    """Create a store with half of the pairs committed and half in the overlay."""
    spec = key_value_store("s", key=key, value=value)
    base = MemoryStore(["s"])
    overlay = Overlay(base)
    store = spec.open(overlay)
    for number, (k, v) in enumerate((pairs or {}).items()):
        store.put(k, v)
        if number == len(pairs or {}) // 2:
            base.write(overlay.changes())
            overlay.forget()
    return store


def test_ranges_are_in_the_order_of_python_keys_and_exclude_their_end() -> None:
    numbers = [-(2**40), -7, -1, 0, 3, 2**40]
    store = store_of(INT64, TEXT, {n: str(n) for n in reversed(numbers)})
    assert [k for k, _ in store.range()] == numbers
    assert [k for k, _ in store.range(-7, 3)] == [-7, -1, 0]
    assert [k for k, _ in store.range(-7, 3, reverse=True)] == [0, -1, -7]
    assert list(store.range(3, -7)) == []
    assert store.approximate_count() == len(numbers)


@given(
    st.sets(st.binary(max_size=3)) | st.sets(st.binary(max_size=3).map(lambda b: b"\xff" + b)),
    st.binary(max_size=2) | st.sampled_from([b"\xff", b"\xff\xff", b"a\xff"]),
)
def test_prefix_scan_finds_exactly_keys_with_prefix(keys: set[bytes], prefix: bytes) -> None:
    store = store_of(BYTES, INT64, {key: len(key) for key in keys})
    assert [k for k, _ in store.prefix_scan(prefix)] == sorted(
        key for key in keys if key.startswith(prefix)
    )


def test_put_if_absent_and_delete_return_previous_value() -> None:
    store = store_of(TEXT, INT64, {"a": 1})
    assert store.put_if_absent("a", 2) == 1
    assert store.put_if_absent("b", 2) is None
    assert (store.delete("a"), store.delete("a"), store.get("b")) == (1, None, 2)


def test_put_many_keeps_order_and_last_of_equal_keys() -> None:
    store = store_of(TEXT, INT64, {"a": 1})
    store.put_many(["b", "c", "b"], [1, None, 2])
    assert store.get_many(["c", "b", "a", "b"]) == [None, 2, 1, 2]


def test_lists_of_unequal_length_are_rejected() -> None:
    with pytest.raises(ValueError, match="shorter"):
        store_of(TEXT, INT64).put_many(["a", "b"], [1])


def test_range_bound_of_wrong_type_fails_at_the_call() -> None:
    store: Any = store_of(INT64, TEXT)
    with pytest.raises(SerializationError):
        store.range("text")


def test_put_during_range_does_not_change_open_iteration() -> None:
    store = store_of(TEXT, INT64, {"a": 1, "b": 2, "c": 3, "d": 4})
    seen = []
    for key, value in store.range():
        seen.append((key, value))
        store.put("c", 30)
        store.put("b", None)
        store.put("aa", 5)
    assert seen == [("a", 1), ("c", 30), ("d", 4)]
    assert [k for k, _ in store.range()] == ["a", "aa", "c", "d"]
