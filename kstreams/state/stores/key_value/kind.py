"""The kinds of key-value stores: plain ones, and ones whose values expire."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from kstreams._types import K, V
from kstreams.clock import to_ms
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import ChangelogForm, PlainForm
from kstreams.state.stores.key_value.changelog import ExpiringForm
from kstreams.state.stores.key_value.expiring import ExpiringRows, TtlClock
from kstreams.state.stores.key_value.rows import KeyValueRows
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.state.stores.kind import AheadRows, Content, StoreKind, Times
from kstreams.state.stores.spec import StoreSpec

__all__ = ("KEY_VALUE", "ExpiringKind", "KeyValueKind", "expiring_kind", "key_value_store")


_Live = KeyValueStore[Any, Any]


@dataclass(frozen=True)
class KeyValueKind(StoreKind[_Live]):
    """One value a key, by key."""

    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        """Return the live store."""
        return KeyValueStore(KeyValueRows(spec.name, spec.key, spec.value, overlay))

    def read_ahead(self, spec: StoreSpec[_Live], overlay: Overlay) -> AheadRows | None:
        """Return the store's rows: a key is that of its row."""
        return overlay.store(spec.name, spec.key, spec.value)

    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        """Return key and value."""
        return PlainForm(spec)

    def scan(
        self, store: _Live, start: object, end: object, *, reverse: bool
    ) -> Iterator[tuple[Any, Any]]:
        """Yield keys and values."""
        return store.range(start, end, reverse=reverse)

    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        """Yield the value."""
        found = store.get(key)
        if found is not None:
            yield (found,)

    def contents(self, spec: StoreSpec[_Live], overlay: Overlay) -> Iterator[Content]:
        """Yield keys and values."""
        for key, value in self.open(spec, overlay).range():
            yield Content(key, value)

    def filling(self, spec: StoreSpec[_Live], overlay: Overlay) -> Callable[[Content], object]:
        """Put a key and a value."""
        put = self.open(spec, overlay).put
        return lambda content: put(content.key, content.value)


@dataclass(frozen=True)
class ExpiringKind(KeyValueKind):
    """One value a key, which expires.

    Args:
        name: Says by which clock.
        ttl_ms: How long values last.
        clock: By which clock.
    """

    ttl_ms: int
    clock: TtlClock

    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        """Return the live store."""
        return KeyValueStore(self._rows(spec, overlay))

    def read_ahead(self, spec: StoreSpec[_Live], overlay: Overlay) -> None:
        """Return nothing: each put looks at other rows too."""
        return

    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        """Return key and value, with the time of the put."""
        return ExpiringForm(spec, self.ttl_ms)

    def contents(self, spec: StoreSpec[_Live], overlay: Overlay) -> Iterator[Content]:
        """Yield keys and values, with the times when they expire."""
        for key, value, expires_ms in self._rows(spec, overlay).expiries():
            yield Content(key, value, (expires_ms,))

    def filling(self, spec: StoreSpec[_Live], overlay: Overlay) -> Callable[[Content], object]:
        """Put a key and a value that expires when it would have."""
        put = self._rows(spec, overlay).put_until
        return lambda content: put(content.key, content.value, *content.times)

    def _rows(self, spec: StoreSpec[_Live], overlay: Overlay) -> ExpiringRows[Any, Any]:
        parts = spec.name, spec.key, spec.value, overlay
        return ExpiringRows(*parts, ttl_ms=self.ttl_ms, clock=self.clock)


KEY_VALUE = KeyValueKind("key-value")


def expiring_kind(ttl: timedelta, clock: TtlClock) -> ExpiringKind:
    """Return the kind of stores whose values expire.

    Raises:
        ValueError: The span is under a millisecond.
    """
    if to_ms(ttl) < 1:
        raise ValueError(f"a ttl is at least 1 ms, not {ttl}")
    return ExpiringKind(f"key-value-ttl-{clock}", to_ms(ttl), clock)


def key_value_store(
    name: str,
    *,
    key: Serde[K],
    value: Serde[V],
    ttl: timedelta | None = None,
    ttl_clock: TtlClock = "stream",
) -> StoreSpec[KeyValueStore[K, V]]:
    """Define a key-value store.

    Args:
        name: Unique in the topology; recorded with the state.
        key: Serde of the keys. Ranges follow the order of its `ordered` bytes.
        value: Serde of the values.
        ttl: How long a value lasts from its last put on; None for ever. What has expired is
            hidden at once, and deleted bit by bit as other values are put. Another span
            holds for what is put from then on.
        ttl_clock: Whether the span is one of stream time, which stands still without
            records, or of the recorded wall time of batches. That is believed as it is: while
            the clock is ahead values are hidden before their time, and what is put then
            stays until its own, or until it is put again.

    Raises:
        ValueError: The span is under a millisecond.
    """
    kind = KEY_VALUE if ttl is None else expiring_kind(ttl, ttl_clock)
    return StoreSpec(name, kind, key, value)
