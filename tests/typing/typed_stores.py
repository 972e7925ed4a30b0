"""Stores have the types of their definitions, and keys of windows are windowed everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from typing_extensions import assert_type

from kstreams import INT64, TEXT, ProcessorContext
from kstreams.durations import seconds
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.buffer.store import BufferedRecord
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.list.kind import list_store
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from kstreams.state.stores.versioned.store import VersionedValue
from kstreams.state.stores.window.kind import window_store
from kstreams.windows import CalendarWindows, TumblingWindows, Windowed

MINUTES = TumblingWindows(seconds(60))
COUNTS = key_value_store("counts", key=TEXT, value=INT64, ttl=timedelta(days=1))
STAMPED = timestamped_store("stamped", key=TEXT, value=INT64)
WINDOWS = window_store("windows", key=TEXT, value=INT64, windows=MINUTES)
MONTHS = window_store("months", key=TEXT, value=INT64, windows=CalendarWindows("month", tz="UTC"))
SESSIONS = session_store("sessions", key=TEXT, value=INT64)
SLICES = sliding_store("slices", key=TEXT, value=INT64)
PRICES = versioned_key_value_store("prices", key=TEXT, value=INT64, retention=timedelta(days=1))
ITEMS = list_store("items", key=TEXT, value=INT64)
HELD = buffer_store("held", key=TEXT, value=INT64)


def by_key(context: ProcessorContext[str, int]) -> None:
    counts = context.store(COUNTS)
    assert_type(counts.get("a"), "int | None")
    assert_type(counts.get_many(["a"]), "list[int | None]")
    assert_type(counts.put_if_absent("a", 1), "int | None")
    assert_type(counts.delete("a"), "int | None")
    assert_type(counts.range("a", reverse=True), Iterator[tuple[str, int]])
    assert_type(counts.prefix_scan(b"a"), Iterator[tuple[str, int]])
    assert_type(counts.approximate_count(), int)
    stamped = context.store(STAMPED)
    assert_type(stamped.get("a"), "tuple[int, int] | None")
    assert_type(stamped.get_many(["a"]), "list[tuple[int, int] | None]")
    assert_type(stamped.delete("a"), "tuple[int, int] | None")
    assert_type(stamped.range(), Iterator[tuple[str, tuple[int, int]]])
    stamped.put_many(["a", "b"], [1, None], [10, 20])
    prices = context.store(PRICES)
    assert_type(prices.get("a", 5), "VersionedValue[int] | None")
    assert_type(prices.delete("a", 5), "VersionedValue[int] | None")
    assert_type(prices.put("a", 1, 5), int)
    assert_type(prices.history("a"), Iterator[VersionedValue[int]])
    items = context.store(ITEMS)
    assert_type(items.get("a"), tuple[int, ...])
    assert_type(items.delete("a"), tuple[int, ...])
    assert_type(items.range("a"), Iterator[tuple[str, tuple[int, ...]]])
    assert_type(items.lengths(), Iterator[tuple[str, int]])
    held = context.store(HELD)
    assert_type(held.get("a"), "BufferedRecord[str, int] | None")
    assert_type(held.range(), Iterator[tuple[str, BufferedRecord[str, int]]])


def by_window(context: ProcessorContext[str, int]) -> None:
    window = Windowed("a", 0, 60_000)
    windows = context.store(WINDOWS)
    assert_type(windows.get(window), "int | None")
    assert_type(windows.delete(window), "int | None")
    windows.put(window, 1)
    windows.put(window, 1, 77)
    assert_type(windows.fetch("a", 0, 1), Iterator[tuple[Windowed[str], int]])
    assert_type(windows.fetch_all(reverse=True), Iterator[tuple[Windowed[str], int]])
    assert_type(windows.fetch_range("a", "b"), Iterator[tuple[Windowed[str], int]])
    assert_type(context.store(MONTHS).get(window), "int | None")
    sessions = context.store(SESSIONS)
    assert_type(sessions.get(window), "int | None")
    assert_type(sessions.delete(window), "int | None")
    assert_type(sessions.fetch("a"), Iterator[tuple[Windowed[str], int]])
    assert_type(sessions.find_sessions("a", 0, 1), Iterator[tuple[Windowed[str], int]])
    slices = context.store(SLICES)
    assert_type(slices.fetch("a", 0, 1), Iterator[tuple[Windowed[str], int]])
    assert_type(slices.fetch_all(), Iterator[tuple[Windowed[str], int]])
