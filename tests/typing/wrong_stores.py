"""Every line marked red must be refused by both type checkers, and no other line."""

from __future__ import annotations

from datetime import timedelta

from kstreams import INT64, TEXT, ProcessorContext, Record
from kstreams.durations import seconds
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.emit_buffer.kind import emit_buffer_store
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.list.kind import list_store
from kstreams.state.stores.rate_limit.kind import rate_limit_store
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.session.rows import SessionRows
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from kstreams.state.stores.window.columns import WindowColumns
from kstreams.state.stores.window.kind import window_store
from kstreams.windows import SessionWindows, Windowed

COUNTS = key_value_store("counts", key=TEXT, value=INT64)
STAMPED = timestamped_store("stamped", key=TEXT, value=INT64)
WINDOWS = window_store("windows", key=TEXT, value=INT64)
SESSIONS = session_store("sessions", key=TEXT, value=INT64)
SLICES = sliding_store("slices", key=TEXT, value=INT64)
PRICES = versioned_key_value_store("prices", key=TEXT, value=INT64, retention=timedelta(days=1))
ITEMS = list_store("items", key=TEXT, value=INT64)
HELD = buffer_store("held", key=TEXT, value=INT64)
EVERY = emit_buffer_store("every", key=TEXT, value=INT64)
LIMITED = rate_limit_store("limited", key=TEXT, value=INT64)
GAPS = SessionWindows(seconds(30))

window_store("ends", key=TEXT, value=INT64, windows=GAPS)  # red


def machinery(context: ProcessorContext[str, int]) -> None:
    windows = context.store(WINDOWS)
    windows.rows()  # red
    windows.reader()  # red
    windows.writer()  # red
    windows.scan()  # red
    windows.first_start()  # red
    windows.drop_before(0)  # red
    windows.columns()  # red
    windows.overlay()  # red
    sessions = context.store(SESSIONS)
    sessions.take_ended(0)  # red
    sessions.next_timer()  # red
    sessions.replace("a", None, ())  # red
    sessions.columns()  # red
    slices = context.store(SLICES)
    slices.due(0)  # red
    slices.rebuild("a", None)  # red
    slices.put("a", (), done_ms=0, timer_ms=0)  # red
    context.store(ITEMS).rebuild("a", 0, 1)  # red
    context.store(PRICES).rebuild("a", 1, 0)  # red
    context.store(COUNTS).put_until("a", 1, 0)  # red
    context.store(COUNTS).scan(None, None)  # red
    context.store(STAMPED).columns()  # red
    held = context.store(HELD)
    held.put(Record("a", 1, 0), 0)  # red
    held.take_first()  # red
    held.measure(wanted=True)  # red
    context.store(EVERY).take_until(0)  # red
    context.store(LIMITED).hold_back("a", 0, ())  # red
    SessionRows.of(windows)  # red
    WindowColumns.of(sessions)  # red


def other_words(context: ProcessorContext[str, int]) -> None:
    context.store(COUNTS).reverse_range()  # red
    context.store(SESSIONS).remove(Windowed("a", 0, 1))  # red
    context.store(ITEMS).take("a")  # red
    context.store(ITEMS).keys()  # red


def keys(context: ProcessorContext[str, int]) -> None:
    counts, stamped = context.store(COUNTS), context.store(STAMPED)
    counts.get(1)  # red
    counts.put("a", "1")  # red
    counts.range(1)  # red
    counts.range("a", "b", True)  # red
    counts.prefix_scan("a")  # red
    stamped.put("a", 1)  # red
    stamped.put_many(["a"], [1])  # red
    windows, sessions = context.store(WINDOWS), context.store(SESSIONS)
    windows.get("a")  # red
    windows.get(("a", 0))  # red
    windows.put("a", 0, 1)  # red
    windows.put(Windowed(1, 0, 1), 1)  # red
    windows.put(Windowed("a", 0, 1), "1")  # red
    windows.fetch(Windowed("a", 0, 1))  # red
    windows.delete("a")  # red
    sessions.get("a")  # red
    sessions.put(Windowed("a", 0, 1), "1")  # red
    sessions.fetch(1)  # red
    context.store(PRICES).delete("a")  # red
    context.store(ITEMS).append("a", "1")  # red
