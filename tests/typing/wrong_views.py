"""Every line marked red must be refused by both type checkers, and no other line."""

from __future__ import annotations

from kstreams import INT64, TEXT, View, key_value_store
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.window.kind import window_store
from kstreams.windowed import Windowed
from tests.support.storage.custom_store_kind import rank, sorted_set

counts = View("checkpoint", key_value_store("counts", key=TEXT, value=INT64))
windows = View("checkpoint", window_store("windows", key=TEXT, value=INT64))
scores = View("checkpoint", sorted_set("scores", member=TEXT))
sessions = View("checkpoint", session_store("sessions", key=TEXT, value=INT64))

counts.get(1)  # red
counts.get("a", 5)  # red
counts.range(1)  # red
counts.fetch("a")  # red
windows.get("a")  # red
windows.get(Windowed(1, 0, 1))  # red
windows.range("a")  # red
windows.fetch(1)  # red
sessions.fetch("a", 0, 1)  # red
sessions.items()  # red
sessions.has("a")  # red
scores.get(1)  # red
scores.fetch("a")  # red
scores.read_key("a", lambda store: store.ranks("a"))  # red
rank(counts, "a")  # red
