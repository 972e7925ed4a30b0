"""Stores: the state of a topology, by key.

A function such as `key_value_store` returns a `StoreSpec`. Pass the spec to the nodes that use the
store (`add_processor(..., stores=[...])`) and to `ProcessorContext.store`, which returns the live
store. Equal specs are one store.

- `key_value_store`: a value for each key, which may expire (`ttl=`). The usual choice.
- `timestamped_store`: a value and its time for each key, for `aggregate`.
- `list_store`: a list for each key; the list may be long.
- `versioned_key_value_store`: values as of a time. `put` returns the end of a value's validity: a
  time, `LATEST` or `NOT_PUT`.
- `window_store`, `session_store`, `sliding_store`: for `windowed_aggregate`, by the kind of
  windows. Their keys are `Windowed`; a window store needs `windows=` to return the ends of its
  keys.
- `buffer_store`: for `suppress`.
- `join_store`, `queue_store`: for `join_streams` and `join_as_of`.
- `subscription_store`: the store of `join_foreign`, for a view of it.

A method has the same meaning in every store that has it: `get`, `put` (a value of None deletes),
`delete`, which returns the deleted value, `range(start, end, reverse=True)`, and by time `fetch`
and `fetch_all`.

`StoreSpec.with_changelog(topic)` publishes the changes of a store.

Example:
    >>> from kstreams import INT64, TEXT
    >>> from kstreams.durations import hours
    >>> from kstreams.stores import key_value_store
    >>> counts = key_value_store("counts", key=TEXT, value=INT64, ttl=hours(1))
    >>> counts.with_changelog("counts-changes").changelog
    'counts-changes'
"""

from __future__ import annotations

from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.buffer.store import BufferedRecord, BufferStore
from kstreams.state.stores.join.kind import join_store
from kstreams.state.stores.join.store import JoinStore, RememberedRecord, Side
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.state.stores.list.kind import list_store
from kstreams.state.stores.list.store import ListStore
from kstreams.state.stores.queue.kind import queue_store
from kstreams.state.stores.queue.store import QueueStore
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.session.store import SessionStore
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.sliding.store import SlidingStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.subscription.kind import subscription_store
from kstreams.state.stores.subscription.store import SubscriptionStore
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from kstreams.state.stores.versioned.rows import LATEST, NOT_PUT
from kstreams.state.stores.versioned.store import VersionedKeyValueStore, VersionedValue
from kstreams.state.stores.window.kind import window_store
from kstreams.state.stores.window.store import WindowEnds, WindowStore

__all__ = (
    "LATEST",
    "NOT_PUT",
    "BufferStore",
    "BufferedRecord",
    "JoinStore",
    "KeyValueStore",
    "ListStore",
    "QueueStore",
    "RememberedRecord",
    "SessionStore",
    "Side",
    "SlidingStore",
    "StoreSpec",
    "SubscriptionStore",
    "TimestampedStore",
    "VersionedKeyValueStore",
    "VersionedValue",
    "WindowEnds",
    "WindowStore",
    "buffer_store",
    "join_store",
    "key_value_store",
    "list_store",
    "queue_store",
    "session_store",
    "sliding_store",
    "subscription_store",
    "timestamped_store",
    "versioned_key_value_store",
    "window_store",
)
