"""The kinds of key-value stores, without and with a time to live."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

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
from kstreams.state.stores.timed_rows import key_of_timed_row, row_of
from kstreams.times import is_forever

__all__ = ("KEY_VALUE", "ExpiringKind", "KeyValueKind", "expiring_kind", "key_value_store")


_Live = KeyValueStore[Any, Any]


@dataclass(frozen=True)
class KeyValueKind(StoreKind[_Live]):
    """The kind of stores with one value per key, ordered by key."""

    divides_rows: ClassVar[bool] = True

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return KeyValueStore(KeyValueRows(spec.name, spec.key, spec.value, overlay))

    def read_ahead(self, spec: StoreSpec[_Live], overlay: Overlay) -> AheadRows | None:
        """Return the store's write-back cache, which can read rows ahead by key."""
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
        """Return the row key unchanged: it is the ordered bytes of the key."""
        return row

    @override
    def key_of_row(self, row: bytes) -> bytes | None:
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
    """The kind of stores with one value per key, and a time to live.

    Args:
        name: The kind's name, which includes the clock.
        ttl_ms: The time to live, ms.
        clock: The clock that measures the time to live.
    """

    ttl_ms: int
    clock: TtlClock

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return KeyValueStore(self._rows(spec, overlay))

    def parameters(self) -> Parameters:
        """Return the time to live (ms); the kind's name includes the clock."""
        return {"ttl_ms": self.ttl_ms}

    def read_ahead(self, spec: StoreSpec[_Live], overlay: Overlay) -> None:
        """Return None: rows cannot be read ahead by key, because each put reads other rows, too."""
        return

    @override
    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        return ExpiringForm(spec, self.ttl_ms)

    def row_key(self, row: bytes) -> bytes | None:
        """Return the encoded key of a row with a value; None for an index entry."""
        found = row_of(row, None)
        return None if found is None else found[0]

    @override
    def key_of_row(self, row: bytes) -> bytes | None:
        return key_of_timed_row(row)

    def contents(self, spec: StoreSpec[_Live], overlay: Overlay) -> Iterator[Content]:
        """Yield keys and values, with the times (ms) when the values expire."""
        for key, value, expires_ms in self._rows(spec, overlay).expiries():
            yield Content(key, value, (expires_ms,))

    def filling(self, spec: StoreSpec[_Live], overlay: Overlay) -> Callable[[Content], object]:
        """Return a function that puts a key's value with its original expiry time."""
        put = self._rows(spec, overlay).put_until
        return lambda content: put(content.key, content.value, *content.times)

    def _rows(self, spec: StoreSpec[_Live], overlay: Overlay) -> ExpiringRows[Any, Any]:
        parts = spec.name, spec.key, spec.value, overlay
        return ExpiringRows(*parts, ttl_ms=self.ttl_ms, clock=self.clock)


KEY_VALUE = KeyValueKind("key-value")


def expiring_kind(ttl: timedelta, clock: TtlClock) -> ExpiringKind:
    """Return the kind of stores whose values expire.

    Raises:
        ValueError: The time to live is under a millisecond.
    """
    if to_ms(ttl) < 1:
        raise ValueError(f"ttl is {ttl}, expected 1 ms or more")
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
        name: The store's name: unique in the topology, and recorded with the state.
        key: The serde of the keys. Ranges follow the order of the bytes of `key.ordered`.
        value: Serde of the values.
        ttl: The time to live of a value after its last put; None or `forever` never expires. An
            expired value is no longer returned, and later puts delete it. A changed time to live
            applies to values that are put after the change.
        ttl_clock: `stream` measures stream time, which does not advance without records;
            `wall` measures the recorded wall time of batches. If the wall clock is ahead, values
            expire too early, and a value that is put meanwhile expires too late.

    Raises:
        ValueError: The time to live is under a millisecond.
    """
    expires = ttl is not None and not is_forever(ttl)
    kind = expiring_kind(ttl, ttl_clock) if ttl is not None and expires else KEY_VALUE
    return StoreSpec(name, kind, key, value)
