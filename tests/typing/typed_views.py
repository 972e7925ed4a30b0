"""A view has the methods of its store's kind, with the definition's types."""

from __future__ import annotations

from datetime import timedelta

from typing_extensions import assert_type

from kstreams import INT64, TEXT, View, key_value_store
from kstreams.app import Migration
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.buffer.store import BufferedRecord
from kstreams.state.stores.buffered import BufferedResult
from kstreams.state.stores.emit_buffer.kind import emit_buffer_store
from kstreams.state.stores.rate_limit.kind import rate_limit_store
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.window.kind import window_store
from kstreams.stores import (
    KeyValueStore,
    ListStore,
    VersionedKeyValueStore,
    VersionedValue,
    list_store,
    versioned_key_value_store,
)
from kstreams.views import RemoteView
from kstreams.windowed import Windowed
from tests.support.storage.custom_store_kind import SortedSet, rank, sorted_set

COUNTS = key_value_store("counts", key=TEXT, value=INT64, ttl=timedelta(days=1))
PRICES = versioned_key_value_store("prices", key=TEXT, value=INT64, retention=timedelta(days=1))
ITEMS = list_store("items", key=TEXT, value=INT64)


def remote_reads() -> None:
    counts = RemoteView("http://127.0.0.1:8080", COUNTS, token="a-token-of-the-tests")
    assert_type(counts, RemoteView[KeyValueStore[str, int]])
    assert_type(counts.get("a"), "int | None")
    for key, value in counts.range("a", "b"):
        assert_type((key, value), tuple[str, int])


def reads() -> None:
    counts = View("checkpoint", COUNTS)
    assert_type(counts, View[KeyValueStore[str, int]])
    assert_type(counts.get("a"), "int | None")
    assert_type(counts.has("a"), bool)
    assert_type(list(counts.range("a", "b", reverse=True)), list[tuple[str, int]])
    assert_type(list(counts.items()), list[tuple[str, int]])
    assert_type(list(counts.prefix_scan(b"a")), list[tuple[str, int]])
    stamped = View("checkpoint", timestamped_store("t", key=TEXT, value=INT64))
    assert_type(stamped.get("a"), "tuple[int, int] | None")
    assert_type(list(stamped.items()), list[tuple[str, tuple[int, int]]])
    assert_type(list(stamped.prefix_scan(b"a")), list[tuple[str, tuple[int, int]]])
    windows = View("checkpoint", window_store("w", key=TEXT, value=INT64))
    assert_type(windows.get(Windowed("a", 0, 1)), "int | None")
    assert_type(list(windows.fetch("a", 0, 1)), list[tuple[Windowed[str], int]])
    assert_type(list(windows.fetch_all()), list[tuple[Windowed[str], int]])
    sessions = View("checkpoint", session_store("s", key=TEXT, value=INT64))
    assert_type(list(sessions.fetch("a")), list[tuple[Windowed[str], int]])
    assert_type(list(sessions.fetch_all()), list[tuple[Windowed[str], int]])
    prices = View("checkpoint", PRICES)
    assert_type(prices, View[VersionedKeyValueStore[str, int]])
    assert_type(prices.get("a", 5), "VersionedValue[int] | None")
    assert_type(list(prices.items()), list[tuple[str, VersionedValue[int]]])
    assert_type(list(prices.history("a", 1, 2)), list[VersionedValue[int]])
    items = View("checkpoint", ITEMS)
    assert_type(list(items.range("a")), list[tuple[str, tuple[int, ...]]])
    assert_type(items, View[ListStore[str, int]])
    assert_type(items.get("a"), tuple[int, ...])


def held_back() -> None:
    slices = View("checkpoint", sliding_store("s", key=TEXT, value=INT64))
    assert_type(list(slices.fetch("a", 0, 1)), list[tuple[Windowed[str], int]])
    assert_type(list(slices.fetch_all()), list[tuple[Windowed[str], int]])
    kept = View("checkpoint", buffer_store("b", key=TEXT, value=INT64))
    assert_type(kept.get("a"), "BufferedRecord[str, int] | None")
    assert_type(list(kept.range()), list[tuple[str, BufferedRecord[str, int]]])
    assert_type(list(kept.items()), list[tuple[str, BufferedRecord[str, int]]])
    assert_type(kept.has("a"), bool)
    every = View("checkpoint", emit_buffer_store("p", key=TEXT, value=INT64))
    assert_type(list(every.fetch("a")), list[tuple[Windowed[str], BufferedResult[int]]])
    limited = View("checkpoint", rate_limit_store("p", key=TEXT, value=INT64))
    assert_type(list(limited.fetch_all()), list[tuple[Windowed[str], BufferedResult[int]]])


def halves(key: str, value: int) -> float:
    return value / len(key)


MIGRATION = Migration(COUNTS, halves)
assert_type(MIGRATION, Migration)
ANY: Migration = MIGRATION
LAST: VersionedValue[int] = VersionedValue(1, 2)


def of_an_outside_kind() -> None:
    scores = View("checkpoint", sorted_set("s", member=TEXT))
    assert_type(scores, View[SortedSet[str]])
    assert_type(scores.get("a"), "float | None")
    assert_type(list(scores.range("a", reverse=True)), list[tuple[str, float]])
    assert_type(scores.read_key("a", lambda store: store.rank("a")), "int | None")
    rows = scores.scan(lambda store: store.by_score(0, 1), order=lambda row: row[0])
    assert_type(list(rows), list[tuple[float, str]])
    assert_type(rank(scores, "a"), "int | None")
