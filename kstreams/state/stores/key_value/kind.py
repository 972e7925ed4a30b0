"""The kinds of key-value stores: plain ones, and ones whose values expire."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from typing_extensions import override

from kstreams._types import K, V
from kstreams.clock import to_ms
from kstreams.options import checks_options
from kstreams.parameters import Parameters
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import ChangelogForm, PlainForm
from kstreams.state.stores.key_value.changelog import ExpiringForm
from kstreams.state.stores.key_value.expiring import ExpiringRows, TtlClock
from kstreams.state.stores.key_value.rows import KeyValueRows
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.state.stores.kind import AheadRows, Content, StoreKind, Times
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timed_rows import row_of
from kstreams.times import is_forever

__all__ = ("KEY_VALUE", "ExpiringKind", "KeyValueKind", "expiring_kind", "key_value_store")


_Live = KeyValueStore[Any, Any]


@dataclass(frozen=True)
class KeyValueKind(StoreKind[_Live]):
    """One value a key, by key."""

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return KeyValueStore(KeyValueRows(spec.name, spec.key, spec.value, overlay))

    def read_ahead(self, spec: StoreSpec[_Live], overlay: Overlay) -> AheadRows | None:
        """Return the store's rows: a key is that of its row."""
        return overlay.store(spec.name, spec.key, spec.value)

    @override
    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        return PlainForm(spec)

    @override
    def scan(
        self, store: _Live, start: object, end: object, *, reverse: bool
    ) -> Iterator[tuple[Any, Any]]:
        return store.range(start, end, reverse=reverse)

    @override
    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        found = store.get(key)
        if found is not None:
            yield (found,)

    @override
    def fill(self, store: _Live, key: object, value: Any) -> None:
        store.put(key, value)

    @override
    def evict(self, store: _Live, key: object) -> None:
        store.delete(key)

    def row_key(self, row: bytes) -> bytes | None:
        """Return the row's key: there is a row for each key."""
        return row

    def contents(self, spec: StoreSpec[_Live], overlay: Overlay) -> Iterator[Content]:
        """Yield keys and values."""
        for key, value in self.open(spec, overlay).range():
            yield Content(key, value)

    @override
    def filling(self, spec: StoreSpec[_Live], overlay: Overlay) -> Callable[[Content], object]:
        put = self.open(spec, overlay).put
        return lambda content: put(content.key, content.value)


@dataclass(frozen=True)
class ExpiringKind(KeyValueKind):
    """One value for each key, with a time to live.

    Args:
        name: The kind's name, which includes the clock.
        ttl_ms: The time to live, ms.
        clock: The clock that measures it.
    """

    ttl_ms: int
    clock: TtlClock

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return KeyValueStore(self._rows(spec, overlay))

    def parameters(self) -> Parameters:
        """Return how long values last; the name says by which clock."""
        return {"ttl_ms": self.ttl_ms}

    def read_ahead(self, spec: StoreSpec[_Live], overlay: Overlay) -> None:
        """Return nothing: each put looks at other rows too."""
        return

    @override
    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        return ExpiringForm(spec, self.ttl_ms)

    def row_key(self, row: bytes) -> bytes | None:
        """Return the key of a row of a value; the other rows are the index of expiry."""
        found = row_of(row, None)
        return None if found is None else found[0]

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


@checks_options
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
        ttl: The time to live of a value after its last put; None or `forever` never expires. An
            expired value is hidden at once, and deleted by later puts. A changed time to live
            applies to the values that are put from then on.
        ttl_clock: `stream` measures stream time, which does not advance without records;
            `wall` the recorded wall time of batches. The wall clock is trusted: while it is
            ahead, values are hidden too early, and a value that is put then stays until its
            own expiry, or until the next put of its key.

    Raises:
        ValueError: The time to live is under a millisecond.
    """
    expires = ttl is not None and not is_forever(ttl)
    kind = expiring_kind(ttl, ttl_clock) if ttl is not None and expires else KEY_VALUE
    return StoreSpec(name, kind, key, value)
