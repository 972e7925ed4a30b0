"""Reads of what a view's store keeps by time: windows, sessions, slices, held back results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from itertools import chain
from typing import Any, Generic, cast, overload

from kstreams._types import K, V
from kstreams.state.stores.buffered import BufferedResult
from kstreams.state.stores.emit_buffer.store import EmitBufferStore
from kstreams.state.stores.rate_limit.store import RateLimitStore
from kstreams.state.stores.session.store import SessionStore
from kstreams.state.stores.sliding.store import SlidingStore
from kstreams.state.stores.spec import S, StoreSpec
from kstreams.state.stores.window.store import WindowStore
from kstreams.views.reader import Reader
from kstreams.views.scan import ViewScan
from kstreams.windowed import Windowed

__all__ = ("TimedReads",)


class TimedReads(Generic[S]):
    """The part of a view that reads by time; times in ms."""

    spec: StoreSpec[S]
    _reader: Reader[S]
    _key: Callable[[Any], bytes]

    @overload
    def fetch(
        self: TimedReads[WindowStore[K, V]],
        key: K,
        from_ms: int | None = None,
        to_ms: int | None = None,
        *,
        reverse: bool = False,
    ) -> ViewScan[tuple[Windowed[K], V]]: ...

    @overload
    def fetch(
        self: TimedReads[SessionStore[K, V]], key: K, *, reverse: bool = False
    ) -> ViewScan[tuple[Windowed[K], V]]: ...

    @overload
    def fetch(
        self: TimedReads[SlidingStore[K, V]],
        key: K,
        from_ms: int | None = None,
        to_ms: int | None = None,
        *,
        reverse: bool = False,
    ) -> ViewScan[tuple[Windowed[K], V]]: ...

    @overload
    def fetch(
        self: TimedReads[EmitBufferStore[K, V]], key: K, *, reverse: bool = False
    ) -> ViewScan[tuple[Windowed[K], BufferedResult[V]]]: ...

    @overload
    def fetch(
        self: TimedReads[RateLimitStore[K, V]], key: K, *, reverse: bool = False
    ) -> ViewScan[tuple[Windowed[K], BufferedResult[V]]]: ...

    def fetch(self, key: Any, *times: int | None, reverse: bool = False, **named: Any) -> Any:
        """Yield a key's windows, sessions or slices by start, or what is held back.

        Windows and slices, of which sliding windows are made, with `from <= start < to`.
        """
        return self._reader.scan(
            self._reader.partitions_of(key),
            lambda stores: chain.from_iterable(
                cast("Any", store).fetch(key, *times, reverse=reverse, **named) for store in stores
            ),
        )

    @overload
    def fetch_all(
        self: TimedReads[WindowStore[K, V]],
        from_ms: int | None = None,
        to_ms: int | None = None,
        *,
        reverse: bool = False,
    ) -> ViewScan[tuple[Windowed[K], V]]: ...

    @overload
    def fetch_all(
        self: TimedReads[SessionStore[K, V]], *, reverse: bool = False
    ) -> ViewScan[tuple[Windowed[K], V]]: ...

    @overload
    def fetch_all(
        self: TimedReads[SlidingStore[K, V]], *, reverse: bool = False
    ) -> ViewScan[tuple[Windowed[K], V]]: ...

    @overload
    def fetch_all(
        self: TimedReads[EmitBufferStore[K, V]], *, reverse: bool = False
    ) -> ViewScan[tuple[Windowed[K], BufferedResult[V]]]: ...

    @overload
    def fetch_all(
        self: TimedReads[RateLimitStore[K, V]], *, reverse: bool = False
    ) -> ViewScan[tuple[Windowed[K], BufferedResult[V]]]: ...

    def fetch_all(self, *times: int | None, reverse: bool = False, **named: Any) -> Any:
        """Yield all that there is, in the order of the store.

        Windows by start, then key, with `from <= start < to`; sessions and slices by key, then
        start. What `every` holds back comes by the time when it is due, what `at_most_every`
        does by key.
        """
        order = _ORDERS[self.spec.kind.name]
        return self._merged(
            lambda store: cast("Any", store).fetch_all(*times, reverse=reverse, **named),
            lambda row: order(self._key, row),
            reverse=reverse,
        )

    def fetch_range(
        self: TimedReads[WindowStore[K, V]],
        start: K | None = None,
        end: K | None = None,
        from_ms: int | None = None,
        to_ms: int | None = None,
        *,
        reverse: bool = False,
    ) -> ViewScan[tuple[Windowed[K], V]]:
        """Yield what `fetch_all` yields of keys with `start <= key < end`; None is open."""
        order = _ORDERS["window"]
        return self._merged(
            lambda store: store.fetch_range(start, end, from_ms, to_ms, reverse=reverse),
            lambda row: order(self._key, row),
            reverse=reverse,
        )

    def _merged(
        self,
        rows: Callable[[S], Iterator[Any]],
        order: Callable[[Any], Any],
        *,
        reverse: bool = False,
    ) -> ViewScan[Any]:
        everywhere = range(self._reader.place.partitions)
        return self._reader.scan(
            everywhere,
            lambda stores: merge(*(rows(store) for store in stores), key=order, reverse=reverse),
        )


_ORDERS: dict[str, Callable[[Callable[[Any], bytes], Any], tuple[Any, ...]]] = {
    "window": lambda key, row: (row[0].start_ms, key(row[0].key)),
    "session": lambda key, row: (key(row[0].key), row[0].start_ms, row[0].end_ms),
    "sliding": lambda key, row: (key(row[0].key), row[0].start_ms),
    "pending": lambda key, row: (
        row[1].due_ms,
        row[0].start_ms,
        row[0].end_ms,
        key(row[0].key),
    ),
    "paced": lambda key, row: (key(row[0].key), row[0].start_ms, row[0].end_ms),
}
"""How rows of several partitions are put in order, by the kind of store."""
