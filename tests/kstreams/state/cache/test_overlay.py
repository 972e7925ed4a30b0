"""The overlay equals a dictionary for any sequence of operations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from kstreams import BYTES, DOUBLE, INT64, NONE, TEXT, Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams.state.backend.key_ranges import covers
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.backend.working import StoreChanges
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.row_cache import RowCache
from kstreams.state.cache.store_overlay import StoreOverlay

TASK = TaskKey("app", "group", 0)


class Json(Serde[Any]):
    """A serde of mutable objects."""

    name = "test-json"

    def serialize(self, value: Any) -> bytes:
        try:
            return json.dumps(value, sort_keys=True).encode()
        except TypeError as exc:
            raise SerializationError(str(exc)) from exc

    def deserialize(self, data: bytes) -> Any:
        try:
            return json.loads(data)
        except ValueError as exc:
            raise DeserializationError(str(exc)) from exc


_SERDES: dict[str, tuple[Serde[Any], list[Any], Serde[Any], st.SearchStrategy[Any]]] = {
    "objects": (TEXT, ["", "a", "ab", "b", "é", "z"], INT64, st.integers(-9, 9)),
    "numbers": (INT64, [-(2**40), -1, 0, 1, 2**40], TEXT, st.text("xy", max_size=2)),
    "byte-keys": (DOUBLE, [-1.5, 0.0, -0.0, 2.25, 1e300], BYTES, st.binary(max_size=2)),
    "byte-values": (BYTES, [b"", b"a", b"a\x00", b"\xff"], Json(), st.lists(st.integers(0, 9))),
    "both": (Json(), [[1], {"a": 1}, "s", 3], Json(), st.lists(st.integers(0, 9))),
}


class OverlayMachine(RuleBasedStateMachine):
    """Operates on a store of an overlay and on a dictionary of encoded pairs."""

    kind: ClassVar[str]

    @initialize()
    def open(self) -> None:
        key, self.keys, self.value, _ = _SERDES[self.kind]
        self.key = key.ordered
        self.base = MemoryStore(["s", "t"])
        self.overlay = Overlay(self.base)
        self.store = self.overlay.store("s", key, self.value)
        self.model: dict[bytes, Any] = {}
        self.before: dict[bytes, Any] | None = None
        self.scans: list[tuple[Iterator[tuple[Any, Any]], list[bytes], list[Any]]] = []

    def item(self, data: st.DataObject) -> Any:
        return data.draw(st.sampled_from(self.keys))

    def items(self, data: st.DataObject) -> list[Any]:
        return data.draw(st.lists(st.sampled_from(self.keys), max_size=4))

    def drawn(self, data: st.DataObject) -> Any:
        return data.draw(st.none() | _SERDES[self.kind][3])

    def set(self, key: Any, value: Any) -> None:
        data = self.key.serialize(key)
        if value is None:
            self.model.pop(data, None)
        else:
            self.model[data] = self.value.serialize(value)

    def expected(self, key: Any) -> Any:
        data = self.model.get(self.key.serialize(key))
        return None if data is None else self.value.deserialize(data)

    @rule(data=st.data())
    def put(self, data: st.DataObject) -> None:
        key, value = self.item(data), self.drawn(data)
        self.store.put(key, value)
        self.set(key, value)
        if isinstance(value, list):
            value.append("changed after the put")

    @rule(data=st.data())
    def put_many(self, data: st.DataObject) -> None:
        keys = self.items(data)
        values = [self.drawn(data) for _ in keys]
        self.store.put_many(keys, values)
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    @rule(data=st.data())
    def get(self, data: st.DataObject) -> None:
        key = self.item(data)
        found = self.store.get(key)
        assert found == self.expected(key)
        if isinstance(found, list):
            found.append("changed after the get")

    @rule(data=st.data())
    def get_many(self, data: st.DataObject) -> None:
        keys = self.items(data)
        assert self.store.get_many(keys) == [self.expected(key) for key in keys]

    @rule(data=st.data())
    def delete_range(self, data: st.DataObject) -> None:
        low, high = (self.key.serialize(self.item(data)) for _ in range(2))
        self.store.delete_range(low, high)
        for key in [key for key in self.model if low <= key < high]:
            del self.model[key]

    @rule(data=st.data())
    def first(self, data: st.DataObject) -> None:
        low, high = (
            None if (key := data.draw(st.none() | st.sampled_from(self.keys))) is None
            else self.key.serialize(key)
            for _ in range(2)
        )  # fmt: skip
        expected = (
            key
            for key in sorted(self.model)
            if (low is None or key >= low) and (high is None or key < high)
        )
        assert self.store.merged.first(low, high) == next(expected, None)

    @rule(data=st.data(), reverse=st.booleans(), steps=st.integers(0, 3))
    def start_scan(self, data: st.DataObject, reverse: bool, steps: int) -> None:
        low, high = (
            None if (key := data.draw(st.none() | st.sampled_from(self.keys))) is None
            else self.key.serialize(key)
            for _ in range(2)
        )  # fmt: skip
        found = self.store.scan(low, high, reverse=reverse)
        due = [
            key
            for key in sorted(self.model, reverse=reverse)
            if (low is None or key >= low) and (high is None or key < high)
        ]
        self.scans.append((found, due, []))
        for _ in range(steps):
            self.step(len(self.scans) - 1)

    @rule(number=st.integers(0, 3))
    def step(self, number: int) -> None:
        """Continue an open scan; each key has its present value, deleted keys are left out."""
        if number >= len(self.scans):
            return
        found, due, _ = self.scans[number]
        while due and due[0] not in self.model:
            del due[0]
        pair = next(found, None)
        if not due:
            assert pair is None
            return
        data = due.pop(0)
        assert pair is not None
        assert self.key.serialize(pair[0]) == data
        assert pair[1] == self.value.deserialize(self.model[data])

    @rule()
    def begin(self) -> None:
        if self.before is None:
            self.overlay.begin()
            self.before = dict(self.model)

    @rule()
    def keep(self) -> None:
        if self.before is not None:
            self.overlay.end()
            self.before = None

    @rule()
    def rollback(self) -> None:
        if self.before is not None:
            self.overlay.rollback()
            self.model, self.before = self.before, None
            self.scans.clear()

    @rule(forget=st.booleans())
    def commit(self, forget: bool) -> None:
        if self.before is not None:
            return
        changes = self.overlay.changes()
        for changed in changes.values():
            keys = [key for key, _ in changed.pairs]
            assert keys == sorted(set(keys))
            bounds = [bound for each in changed.ranges for bound in each]
            assert bounds == sorted(set(bounds))
            gone = [key for key, value in changed.pairs if value is None]
            assert not any(covers(changed.ranges, key) for key in gone)
        self.base.write(changes)
        self.overlay.committed()
        assert self.overlay.changes() == {}
        if forget:
            self.overlay.forget()
        self.scans.clear()

    @rule(limit=st.sampled_from((0, 300, 1 << 20)))
    def hand_over(self, limit: int) -> None:
        """Commit, and continue with the overlay of the next batch, which may have cached rows."""
        if self.before is not None:
            return
        self.base.write(self.overlay.changes())
        cache = RowCache(limit)
        cache.keep(TASK, "version", self.overlay)
        assert cache.size_bytes <= limit
        self.overlay = Overlay(self.base, cache.take(TASK, "version"))
        self.store = self.overlay.store("s", self.key, self.value)
        self.scans.clear()

    @rule()
    def forget(self) -> None:
        """Drop uncommitted changes."""
        if self.before is None:
            self.overlay.forget()
            self.model = dict(self.base.scan("s", None, None))
            self.scans.clear()

    @invariant()
    def whole(self) -> None:
        if hasattr(self, "store"):
            pairs = [(self.key.serialize(k), self.value.serialize(v)) for k, v in self.all()]
            assert pairs == sorted(self.model.items())

    def all(self) -> list[tuple[Any, Any]]:
        return list(self.store.scan(None, None))


@pytest.mark.parametrize("kind", _SERDES)
def test_overlay_equals_a_dictionary(kind: str) -> None:
    machine: Any = type(f"Machine{kind}", (OverlayMachine,), {"kind": kind})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=20, stateful_step_count=30, deadline=None)
    )


def overlay_of(
    key: Serde[Any], value: Serde[Any], stored: dict[bytes, bytes] | None = None
) -> tuple[Overlay, StoreOverlay]:
    base = MemoryStore(["s"])
    base.write({"s": StoreChanges(sorted((stored or {}).items()))})
    overlay = Overlay(base)
    return overlay, overlay.store("s", key, value)


def test_overlay_without_changes_writes_nothing() -> None:
    overlay, store = overlay_of(TEXT, INT64)
    store.get("a")
    assert overlay.changes() == {}


def test_overlay_changes_are_sorted_by_key_bytes_and_include_deletions() -> None:
    overlay, store = overlay_of(INT64, TEXT)
    for key, value in ((5, "five"), (-3, "minus three"), (0, None)):
        store.put(key, value)
    encode = INT64.ordered.serialize
    assert overlay.changes() == {
        "s": StoreChanges([(encode(-3), b"minus three"), (encode(0), None), (encode(5), b"five")])
    }


@pytest.mark.parametrize("journaling", [False, True], ids=["at commit", "at once when guarded"])
@pytest.mark.parametrize(
    ("key", "value", "named"),
    [("k", "no number", "k"), ("k", 2**63, "k"), (b"bytes", 1, b"bytes"), (None, 1, None)],
    ids=["wrong type", "out of range", "wrong key", "null key"],
)
def test_error_of_serialization_names_store_and_key(
    journaling: bool, key: Any, value: Any, named: Any
) -> None:
    overlay, store = overlay_of(TEXT, INT64)
    if journaling:
        overlay.begin()
    with pytest.raises(SerializationError) as caught:  # noqa: PT012  # one of the two calls raises
        store.put(key, value)
        overlay.changes()
    assert (caught.value.where.store, caught.value.where.key) == ("s", named)


def test_error_of_undecodable_row_names_store_and_key() -> None:
    broken = {b"a": b"12345678", b"k": b"short"}
    for read in (
        lambda store: store.get("k"),
        lambda store: store.get_many(["a", "k"]),
        lambda store: list(store.scan(None, None)),
    ):
        _, store = overlay_of(TEXT, INT64, broken)
        with pytest.raises(DeserializationError) as caught:
            read(store)
        assert (caught.value.where.store, caught.value.where.key) == ("s", "k")


def test_overlay_treats_none_as_ordinary_key() -> None:
    overlay, store = overlay_of(NONE, INT64)
    store.put(None, 7)
    assert overlay.changes() == {"s": StoreChanges([(b"", INT64.serialize(7))])}
    assert list(store.scan(None, None)) == [(None, 7)]


def test_rollback_after_failed_put_restores_value() -> None:
    overlay, store = overlay_of(TEXT, INT64)
    store.put("a", 1)
    overlay.begin()
    store.put("a", 2)
    store.put("b", 2)
    with pytest.raises(SerializationError):
        store.put("a", "text")
    overlay.rollback()
    assert overlay.changes() == {"s": StoreChanges([(b"a", INT64.serialize(1))])}


def test_rollback_includes_store_first_used_after_begin_of_record() -> None:
    overlay = Overlay(MemoryStore(["s"]))
    overlay.begin()
    store = overlay.store("s", TEXT, INT64)
    store.put("a", 1)
    overlay.rollback()
    assert store.get("a") is None


def test_count_of_overlay_includes_puts_and_deletions() -> None:
    overlay, store = overlay_of(TEXT, INT64, {b"a": bytes(8), b"b": bytes(8)})
    assert store.count() == 2
    store.get_many(["a", "c"])
    store.put("a", None)
    store.put("c", 1)
    store.put("d", 1)
    assert store.count() == 3
    assert overlay.changes().keys() == {"s"}


@pytest.mark.parametrize("committed", [False, True])
def test_scan_of_overlay_leaves_out_keys_put_after_the_call(committed: bool) -> None:
    overlay, store = overlay_of(TEXT, INT64, {b"a": bytes(8), b"b": bytes(8)})
    store.put_many(["a", "c"], [None, None])
    if committed:
        store.stored._base.write(overlay.changes())  # like a commit
        overlay.committed()
    found = store.scan(None, None)
    store.put_many(["a", "c"], [1, 1])
    assert [key for key, _ in found] == ["b"]
