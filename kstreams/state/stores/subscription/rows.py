"""The rows of a subscription store: left rows by foreign key and own key, as bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kstreams.serde.base import Serde
from kstreams.serde.composite import TupleSerde
from kstreams.serde.text import BYTES
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.prefix_free import read_prefix_free, write_prefix_free
from kstreams.state.stores.state_store import StoreRows

__all__ = ("SubscriptionRows", "prefixing")


class SubscriptionRows(StoreRows):
    """The rows of a subscription store: one per left row with a foreign key, by foreign key.

    A row's key is the foreign key, encoded so that no key is a prefix of another, then the left
    row's own key; the value is the left value. Keys and values are passed as bytes: rows that are
    only forwarded are not deserialized.

    Args:
        name: The store's name.
        key: Serde of foreign keys.
        value: Serde of pairs of own key and left value.
        overlay: The write-back caches of the task's stores.

    Attributes:
        put: Sets the value of a row's key, both as bytes; None deletes the row.
        put_many: Sets the values of many row keys.
        prefix: Returns the common prefix of the row keys of a foreign key.
    """

    def __init__(
        self, name: str, key: Serde[Any], value: TupleSerde[tuple[Any, Any]], overlay: Overlay
    ) -> None:
        self._rows = overlay.store(name, BYTES, BYTES)
        self._rows.is_only_scanned = True
        self._key = key.ordered
        self._own, self._value = value.parts
        self.put: Callable[[bytes, bytes | None], None] = self._rows.put
        self.put_many: Callable[[Sequence[bytes], Sequence[bytes | None]], None] = (
            self._rows.put_many
        )
        self.prefix = prefixing(key)

    def set(self, key: object, own: object, value: object) -> None:
        """Set a row, given foreign key, own key and left value as objects."""
        row = self.prefix(key) + self._own.serialize(own)
        self.put(row, self._value.serialize(value))

    def within(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys and values of a foreign key's rows, in the order of their own keys' bytes."""
        # A prefix ends with two zero bytes: the next after all that begins so ends with 0, 1.
        return self._rows.merged.scan_encoded(prefix, prefix[:-1] + b"\x01")

    def within_each(self, prefixes: Sequence[bytes]) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield the rows of several foreign keys: the prefix's index, the key and the value.

        Args:
            prefixes: The prefixes of the foreign keys, in ascending order.
        """
        ranges = [(prefix, prefix[:-1] + b"\x01") for prefix in prefixes]
        return self._rows.merged.scan_ranges(ranges)

    def scan(
        self, start: object = None, end: object = None, *, reverse: bool = False
    ) -> Iterator[tuple[Any, tuple[Any, Any]]]:
        """Yield foreign keys with `start <= key < end`, each with a row's own key and value."""
        low = None if start is None else self.prefix(start)
        high = None if end is None else self.prefix(end)
        for row, value in self._rows.merged.scan_encoded(low, high, reverse=reverse):
            yield self._opened(row, value)

    def fetch(self, key: object) -> Iterator[tuple[Any, Any]]:
        """Yield own keys and values of a foreign key's rows."""
        for row, value in self.within(self.prefix(key)):
            yield self._opened(row, value)[1]

    def _opened(self, row: bytes, value: bytes) -> tuple[Any, tuple[Any, Any]]:
        key, place = read_prefix_free(row)
        own = self._own.deserialize(row[place:])
        return self._key.deserialize(key), (own, self._value.deserialize(value))


def prefixing(key: Serde[Any]) -> Callable[[Any], bytes]:
    """Return a function that returns the prefix of a foreign key."""
    encode = key.ordered.serialize
    return lambda found: write_prefix_free(encode(found))
