"""An overlay that keeps bytes answers as one that keeps objects does."""

from __future__ import annotations

from kstreams.serde import INT64, TEXT
from kstreams.state.memory import MemoryStore
from kstreams.state.overlay import Overlay


def test_it_takes_over_what_was_cached_and_put() -> None:
    base = MemoryStore(["s"])
    base.write({"s": [(b"a", INT64.serialize(1)), (b"b", INT64.serialize(2))]})
    overlay = Overlay(base)
    store = overlay.store("s", TEXT, INT64)
    assert store.get("a") == 1
    store.put("b", None)
    store.put("c", 3)
    store.keep_bytes()
    assert [store.get(key) for key in "abc"] == [1, None, 3]
    assert store.get_bytes([b"a", b"b", b"c"]) == [INT64.serialize(1), None, INT64.serialize(3)]
    store.put_bytes([b"a", b"d"], [None, INT64.serialize(4)])
    assert list(store.scan(None, None)) == [("c", 3), ("d", 4)]
    pairs = [(b"c", INT64.serialize(3)), (b"d", INT64.serialize(4))]
    assert list(store.scan_bytes(None, None)) == pairs
    assert list(store.scan_bytes(None, None, reverse=True)) == pairs[::-1]
    assert overlay.changes() == {"s": [(b"a", None), (b"b", None), *pairs]}


def test_what_is_undone_leaves_nothing() -> None:
    overlay = Overlay(MemoryStore(["s"]))
    store = overlay.store("s", TEXT, INT64)
    store.keep_bytes()
    store.put_bytes([b"a"], [INT64.serialize(1)])
    overlay.begin()
    store.put_bytes([b"a", b"b"], [None, INT64.serialize(2)])
    overlay.rollback()
    assert list(store.scan(None, None)) == [("a", 1)]


def test_rows_that_go_to_the_next_batch_stay_bytes() -> None:
    base = MemoryStore(["s"])
    first = Overlay(base)
    store = first.store("s", TEXT, INT64)
    store.keep_bytes()
    store.put_bytes([b"a"], [INT64.serialize(1)])
    base.write(first.changes())
    first.committed()
    second = Overlay(base, first.cached()).store("s", TEXT, INT64)
    assert second.get("a") == 1
    second.keep_bytes()
    assert second.get_bytes([b"a"]) == [INT64.serialize(1)]
