"""The changelog of key-value stores: plain, expiring and timestamped."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kstreams.serde.base import Serde
from kstreams.state.stores.changelog.form import COMPACTED, Before, Entry, Pair, plain_key
from kstreams.state.stores.timed_rows import row_of

__all__ = ("ExpiringForm", "KeyValueForm", "TimestampedForm", "stamped_entry")

_TIME = struct.Struct(">q")


class KeyValueForm:
    """Key and value; the time is that of the batch."""

    config: Mapping[str, str] = COMPACTED

    def __init__(self, key: Serde[Any], value: Serde[Any]) -> None:
        self._key = key
        self._value = value
        self._plain = plain_key(key)

    def entries(self, changes: Sequence[Pair], before: Before, time_ms: int) -> Iterator[Entry]:
        """Yield a record a row."""
        for key, value in changes:
            yield Entry(self._plain(key), value, time_ms)

    def put(self, store: Any, entry: Entry) -> None:  # noqa: ANN401  # a live store
        """Set or delete the key."""
        store.put(*self._decoded(entry))

    def _decoded(self, entry: Entry) -> tuple[Any, Any]:
        value = None if entry.value is None else self._value.deserialize(entry.value)
        return self._key.deserialize(entry.key), value


class TimestampedForm(KeyValueForm):
    """Key and value, with the value's own time."""

    def entries(self, changes: Sequence[Pair], before: Before, time_ms: int) -> Iterator[Entry]:
        """Yield a record a row."""
        for key, value in changes:
            yield stamped_entry(self._plain(key), value, time_ms)

    def put(self, store: Any, entry: Entry) -> None:  # noqa: ANN401  # a live store
        """Set or delete the key."""
        store.put(*self._decoded(entry), entry.timestamp)


class ExpiringForm(KeyValueForm):
    """Key and value, with the time from which on the value lives for its span.

    Args:
        key: Serde of the keys.
        value: Serde of the values.
        ttl_ms: The span.
    """

    def __init__(self, key: Serde[Any], value: Serde[Any], ttl_ms: int) -> None:
        super().__init__(key, value)
        self._ttl_ms = ttl_ms

    def entries(self, changes: Sequence[Pair], before: Before, time_ms: int) -> Iterator[Entry]:
        """Yield a record for each row of a value; those of the index are left out."""
        for pair in changes:
            row = row_of(*pair)
            if row is not None:
                entry = stamped_entry(self._plain(row[0]), row[1], time_ms)
                put_ms = max(entry.timestamp - self._ttl_ms, 0)
                yield entry if entry.value is None else entry._replace(timestamp=put_ms)

    def put(self, store: Any, entry: Entry) -> None:  # noqa: ANN401  # a live store
        """Set the value with its remaining life, or delete the key."""
        key, value = self._decoded(entry)
        if value is None:
            store.put(key, None)
        else:
            store.put_until(key, value, entry.timestamp + self._ttl_ms)


def stamped_entry(key: bytes, value: bytes | None, time_ms: int) -> Entry:
    """Return the record of a value that `StampedSerde` wrote, or of a deletion."""
    if value is None:
        return Entry(key, None, time_ms)
    return Entry(key, value[8:], _TIME.unpack_from(value)[0])
