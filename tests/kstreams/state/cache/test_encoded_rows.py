"""An overlay of encoded rows equals an overlay of objects."""

from __future__ import annotations

from kstreams import BYTES, INT64, TEXT
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.working import StoreChanges
from kstreams.state.cache.encoded_rows import EncodedRows
from kstreams.state.cache.overlay import Overlay


def test_encoded_rows_include_cached_and_put_rows() -> None:
    base = MemoryStore(["s"])
    base.write({"s": StoreChanges([(b"a", INT64.serialize(1)), (b"b", INT64.serialize(2))])})
    overlay = Overlay(base)
    store = overlay.store("s", TEXT, INT64)
    assert store.get("a") == 1
    store.put("b", None)
    store.put("c", 3)
    rows = EncodedRows(store)
    assert [store.get(key) for key in "abc"] == [1, None, 3]
    assert rows.get_many([b"a", b"b", b"c"]) == [INT64.serialize(1), None, INT64.serialize(3)]
    rows.put_many([b"a", b"d"], [None, INT64.serialize(4)])
    assert list(store.scan(None, None)) == [("c", 3), ("d", 4)]
    pairs = [(b"c", INT64.serialize(3)), (b"d", INT64.serialize(4))]
    assert list(rows.scan(None, None)) == pairs
    assert list(rows.scan(None, None, reverse=True)) == pairs[::-1]
    assert overlay.changes() == {"s": StoreChanges([(b"a", None), (b"b", None), *pairs])}


def test_rollback_removes_encoded_rows_of_failed_record() -> None:
    overlay = Overlay(MemoryStore(["s"]))
    store = overlay.store("s", TEXT, INT64)
    rows = EncodedRows(store)
    rows.put_many([b"a"], [INT64.serialize(1)])
    overlay.begin()
    rows.put_many([b"a", b"b"], [None, INT64.serialize(2)])
    overlay.rollback()
    assert list(store.scan(None, None)) == [("a", 1)]


def test_encoded_rows_stay_encoded_for_next_batch() -> None:
    base = MemoryStore(["s"])
    first = Overlay(base)
    store = first.store("s", TEXT, INT64)
    rows = EncodedRows(store)
    rows.put_many([b"a"], [INT64.serialize(1)])
    base.write(first.changes())
    first.committed()
    second = Overlay(base, first.cached()).store("s", TEXT, INT64)
    assert second.get("a") == 1
    rows = EncodedRows(second)
    assert rows.get_many([b"a"]) == [INT64.serialize(1)]


def test_delete_range_is_one_change_and_hides_earlier_rows() -> None:
    base = MemoryStore(["s"])
    base.write({"s": StoreChanges([(b"%d" % n, b"old") for n in range(8)])})
    overlay = Overlay(base)
    store = overlay.store("s", BYTES, BYTES)
    rows = EncodedRows(store)
    rows.get_many([b"2", b"5", b"6"])
    rows.put_many([b"3", b"3x", b"6"], [b"new", b"new", None])
    store.delete_range(b"2", b"5")
    rows.put_many([b"4"], [b"again"])
    left = [(b"0", b"old"), (b"1", b"old"), (b"4", b"again"), (b"5", b"old"), (b"7", b"old")]
    keys = [b"%d" % n for n in range(8)]
    assert rows.get_many(keys) == [dict(left).get(key) for key in keys]
    assert list(rows.scan(None, None)) == left
    assert list(rows.scan(None, None, reverse=True)) == left[::-1]
    assert store.count() == 5
    changed = StoreChanges([(b"4", b"again"), (b"6", None)], ((b"2", b"5"),))
    assert overlay.changes() == {"s": changed}


def test_deletion_of_empty_range_adds_no_change() -> None:
    base = MemoryStore(["s"])
    base.write({"s": StoreChanges([(b"a", b"1"), (b"x", b"1")])})
    overlay = Overlay(base)
    store = overlay.store("s", BYTES, BYTES)
    EncodedRows(store).delete_range(b"b", b"x")
    assert overlay.changes() == {}


def test_rollback_of_deleted_range_restores_rows() -> None:
    base = MemoryStore(["s"])
    base.write({"s": StoreChanges([(b"%d" % n, b"old") for n in range(4)])})
    overlay = Overlay(base)
    store = overlay.store("s", BYTES, BYTES)
    store.put(b"1", b"put")
    store.delete_range(b"0", b"1")
    overlay.begin()
    store.delete_range(b"0", b"3")
    assert store.get_many([b"0", b"1", b"2", b"3"]) == [None, None, None, b"old"]
    overlay.rollback()
    assert store.get_many([b"0", b"1", b"2", b"3"]) == [None, b"put", b"old", b"old"]
    assert overlay.changes() == {"s": StoreChanges([(b"1", b"put")], ((b"0", b"1"),))}


def test_rows_of_deleted_range_do_not_reappear_in_next_batch() -> None:
    base = MemoryStore(["s"])
    base.write({"s": StoreChanges([(b"%d" % n, b"old") for n in range(4)])})
    first = Overlay(base)
    store = first.store("s", BYTES, BYTES)
    store.get_many([b"0", b"1", b"2"])
    store.put(b"1x", b"new")
    store.delete_range(b"0", b"2")
    base.write(first.changes())
    first.committed()
    assert first.cached()["s"].rows == {b"2": b"old"}
    second = Overlay(base, first.cached()).store("s", BYTES, BYTES)
    assert [second.get(b"%d" % n) for n in range(4)] == [None, None, b"old", b"old"]


def test_scanned_encoded_rows_are_not_cached() -> None:
    base = MemoryStore(["s"])
    overlay = Overlay(base)
    store = overlay.store("s", BYTES, BYTES)
    store.is_only_scanned = True
    store.put_many([b"b", b"a"], [b"2", b"1"])
    base.write(overlay.changes())
    overlay.committed()
    assert not store.clean
    assert list(store.scan(None, None)) == [(b"a", b"1"), (b"b", b"2")]
