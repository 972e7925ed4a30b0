"""The public methods of stores are consistent across kinds."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kstreams.serde import INT64, TEXT
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.buffer.store import BufferStore
from kstreams.state.stores.emit_buffer.store import EmitBufferStore
from kstreams.state.stores.join.store import JoinStore
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.key_value.rows import KeyValueRows
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.state.stores.known_kinds import BUILT_IN_KINDS
from kstreams.state.stores.list.kind import list_store
from kstreams.state.stores.list.store import ListStore
from kstreams.state.stores.queue.store import QueueStore
from kstreams.state.stores.rate_limit.store import RateLimitStore
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.session.rows import SessionRows
from kstreams.state.stores.session.store import SessionStore
from kstreams.state.stores.sliding.store import SlidingStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.state_store import StateStore
from kstreams.state.stores.subscription.store import SubscriptionStore
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from kstreams.state.stores.versioned.store import VersionedKeyValueStore, VersionedValue
from kstreams.state.stores.window.kind import window_store
from kstreams.state.stores.window.rows import WindowRows
from kstreams.state.stores.window.store import WindowStore
from kstreams.windowed import Windowed

PAIRS = "Iterator[tuple["
"""Return annotation of iterating methods, which yield keys with values."""

VERBS: dict[str, tuple[tuple[str, ...], str]] = {
    "get": (("key", "as_of_ms"), ""),
    "get_many": (("keys",), "list["),
    "put": (("key", "value", "timestamp_ms"), ""),
    "put_many": (("keys", "values", "timestamps_ms"), "None"),
    "put_if_absent": (("key", "value", "timestamp_ms"), ""),
    "delete": (("key", "timestamp_ms"), ""),
    "range": (("start", "end", "reverse"), PAIRS + "K, "),
    "prefix_scan": (("prefix", "reverse"), PAIRS + "K, "),
    "fetch": (("key", "from_ms", "to_ms", "side", "reverse"), PAIRS),
    "fetch_all": (("from_ms", "to_ms", "reverse"), PAIRS),
    "fetch_range": (("start", "end", "from_ms", "to_ms", "reverse"), PAIRS + "Windowed[K], "),
    "find_sessions": (
        ("key", "earliest_end_ms", "latest_start_ms", "reverse"),
        PAIRS + "Windowed[K], ",
    ),
    "history": (("key", "from_ms", "to_ms", "reverse"), "Iterator["),
    "approximate_count": ((), "int"),
    # of lists
    "append": (("key", "value"), "int"),
    "extend": (("key", "values"), "int"),
    "elements": (("key", "reverse"), "Iterator["),
    "first": (("key",), ""),
    "length": (("key",), "int"),
    "lengths": (("start", "end", "reverse"), PAIRS + "K, "),
    "take_first": (("key", "count"), "tuple["),
}
"""All public methods of stores: parameters in order, and the beginning of the return annotation.

A store may leave out parameters that its kind does not need.
"""

FACES: dict[str, type[StateStore[Any]]] = {
    "buffer": BufferStore,
    "pending": EmitBufferStore,
    "join": JoinStore,
    "key-value": KeyValueStore,
    "list": ListStore,
    "queue": QueueStore,
    "paced": RateLimitStore,
    "session": SessionStore,
    "sliding": SlidingStore,
    "subscription": SubscriptionStore,
    "timestamped": TimestampedStore,
    "versioned": VersionedKeyValueStore,
    "window": WindowStore,
}
RETURNS_WHEN_VALID = {"versioned"}
"""Kinds whose `put` returns a time, like in Kafka Streams."""

faces = pytest.mark.parametrize("face", FACES.values(), ids=FACES)


def public(face: type[Any]) -> dict[str, Any]:
    return {name: getattr(face, name) for name in dir(face) if not name.startswith("_")}


def parameters(call: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(call).parameters if name != "self"]


def returned(call: Callable[..., Any]) -> str:
    return str(inspect.signature(call).return_annotation)


def opened(spec: StoreSpec[Any]) -> Any:
    return spec.open(Overlay(MemoryStore([spec.name])))


def test_each_kind_has_a_public_store_class() -> None:
    assert {kind.name.partition("-ttl-")[0] for kind in BUILT_IN_KINDS} == set(FACES)


@faces
def test_store_has_agreed_public_methods_only(face: type[Any]) -> None:
    assert set(public(face)) <= set(VERBS)


@faces
def test_method_has_same_parameters_on_each_store(face: type[Any]) -> None:
    for verb, call in public(face).items():
        agreed = VERBS[verb][0]
        own = parameters(call)
        assert own == [name for name in agreed if name in own], verb


@faces
def test_method_returns_same_kind_of_object_on_each_store(face: type[Any]) -> None:
    for verb, call in public(face).items():
        assert returned(call).startswith(VERBS[verb][1]), verb


@faces
def test_methods_by_time_return_windows_or_plain_keys(face: type[Any]) -> None:
    """Records of joins and queues are ordered by their own times, all other rows by windows."""
    plain = {JoinStore: "K, ", QueueStore: "K, ", SubscriptionStore: "K2, "}
    key = plain.get(face, "Windowed[K], ")
    for verb in ("fetch", "fetch_all"):
        if verb in public(face):
            assert returned(public(face)[verb]).startswith(PAIRS + key)


@faces
def test_boolean_parameters_of_store_methods_are_keyword_only(face: type[Any]) -> None:
    for call in public(face).values():
        flag = inspect.signature(call).parameters.get("reverse")
        assert flag is None or flag.kind is inspect.Parameter.KEYWORD_ONLY


@faces
def test_delete_has_return_type_of_get(face: type[Any]) -> None:
    verbs = public(face)
    if "delete" in verbs:
        assert returned(verbs["delete"]) == returned(verbs["get"])


@pytest.mark.parametrize("kind", FACES)
def test_put_of_each_store_returns_none(kind: str) -> None:
    put = public(FACES[kind]).get("put")
    if put is not None:
        assert returned(put) == ("int" if kind in RETURNS_WHEN_VALID else "None")


WINDOW = Windowed("a", 0, 10)
DELETED: dict[str, tuple[StoreSpec[Any], Callable[[Any], object], Any, Any]] = {
    "key-value": (
        key_value_store("s", key=TEXT, value=INT64),
        lambda store: store.put("a", 1),
        "a",
        1,
    ),
    "ttl": (
        key_value_store("s", key=TEXT, value=INT64, ttl=timedelta(1)),
        lambda store: store.put("a", 1),
        "a",
        1,
    ),
    "timestamped": (
        timestamped_store("s", key=TEXT, value=INT64),
        lambda store: store.put("a", 1, 7),
        "a",
        (1, 7),
    ),
    "window": (
        window_store("s", key=TEXT, value=INT64),
        lambda store: store.put(WINDOW, 1),
        WINDOW,
        1,
    ),
    "session": (
        session_store("s", key=TEXT, value=INT64),
        lambda store: store.put(WINDOW, 1),
        WINDOW,
        1,
    ),
    "list": (
        list_store("s", key=TEXT, value=INT64),
        lambda store: store.extend("a", range(9)),
        "a",
        tuple(range(9)),
    ),
}


@pytest.mark.parametrize("kind", DELETED)
def test_delete_of_each_store_returns_previous_value_and_then_none(kind: str) -> None:
    spec, put, key, value = DELETED[kind]
    store = opened(spec)
    put(store)
    absent = spec.kind.absent
    assert (store.get(key), store.delete(key)) == (value, value)
    assert (store.get(key), store.delete(key)) == (absent, absent)


def test_versioned_delete_returns_value_valid_at_its_time() -> None:
    spec = versioned_key_value_store("s", key=TEXT, value=INT64, retention=timedelta(1))
    store = opened(spec)
    store.put("a", 1, 5)
    assert store.delete("a", 7) == VersionedValue(1, 5)
    assert store.delete("a", 8) is None


def test_timestamped_store_has_methods_of_key_value_store() -> None:
    assert set(public(KeyValueStore)) == set(public(TimestampedStore))
    store = opened(timestamped_store("s", key=TEXT, value=INT64))
    store.put_many(["b", "a", "ab", "c"], [2, 1, 3, None], [20, 10, 30, 40])
    assert store.get_many(["a", "c", "b"]) == [(1, 10), None, (2, 20)]
    assert store.put_if_absent("a", 9, 9) == (1, 10)
    assert store.put_if_absent("c", 4, 40) is None
    assert list(store.range("ab", reverse=True)) == [
        ("c", (4, 40)),
        ("b", (2, 20)),
        ("ab", (3, 30)),
    ]
    assert [key for key, _ in store.prefix_scan(b"a")] == ["a", "ab"]
    assert [key for key, _ in store.prefix_scan(b"a", reverse=True)] == ["ab", "a"]
    assert store.approximate_count() == 4


def test_rows_of_another_kind_are_rejected() -> None:
    store: Any = opened(window_store("s", key=TEXT, value=INT64))
    assert isinstance(WindowRows.of(store), WindowRows)
    for rows in (SessionRows, KeyValueRows):
        expected = f"a store whose rows are {rows.__name__}, got a WindowStore with WindowRows"
        with pytest.raises(TypeError, match=expected):
            rows.of(store)
