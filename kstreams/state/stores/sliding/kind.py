"""The kind of stores of slices, which sliding windows consist of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import ChangelogForm, RowForm
from kstreams.state.stores.kind import Content, StoreKind, Times, is_within
from kstreams.state.stores.sliding.rows import SlidingRows
from kstreams.state.stores.sliding.store import SlidingStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timed_rows import key_of_timed_row
from kstreams.windowed import Windowed

__all__ = ("SLIDING", "SlidingKind", "sliding_store")


_Live = SlidingStore[Any, Any]
_Row = tuple[Windowed[Any], Any]
"""The key and time of a slice, and the slice's value."""


@dataclass(frozen=True)
class SlidingKind(StoreKind[_Live]):
    """The kind of stores with one slice per key and time, ordered by key, then by time."""

    columns: ClassVar[tuple[str, ...]] = ("key", "time_ms", "value")
    has_times: ClassVar[bool] = True
    divides_rows: ClassVar[bool] = True

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return SlidingStore(spec, overlay)

    @override
    def key_of_row(self, row: bytes) -> bytes | None:
        return key_of_timed_row(row)

    @override
    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        return RowForm(spec)

    @override
    def scan(self, store: _Live, start: object, end: object, *, reverse: bool) -> Iterator[_Row]:
        rows = store.fetch_all(reverse=reverse)
        return (row for row in rows if is_within(row[0].key, start, end))

    def order(self, spec: StoreSpec[_Live]) -> Callable[[_Row], tuple[bytes, int]]:
        """Return a function that returns key and time of a row."""
        data = spec.key.ordered.serialize
        return lambda row: (data(row[0].key), row[0].start_ms)

    @override
    def flat(self, row: _Row) -> Iterator[tuple[Any, ...]]:
        window, value = row
        yield window.key, window.start_ms, value

    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        """Yield time and value of the key's slices within the time span `times`."""
        return ((window.start_ms, value) for window, value in store.fetch(key, *times))

    def contents(self, spec: StoreSpec[_Live], overlay: Overlay) -> Iterator[Content]:
        """Yield all slices with their keys and times.

        Each `Content` also has the time (ms) before which the key's windows are closed.
        """
        rows: SlidingRows[Any, Any] = SlidingRows.of(self.open(spec, overlay))
        for key, done_ms, slices in rows.all():
            for time_ms, value in slices:
                yield Content(key, value, (time_ms, done_ms))

    def filling(self, spec: StoreSpec[_Live], overlay: Overlay) -> Callable[[Content], object]:
        """Return a function that appends a slice to its key's row, and sets the row's timer."""
        rows: SlidingRows[Any, Any] = SlidingRows.of(self.open(spec, overlay))

        def put(content: Content) -> None:
            time_ms, done_ms = content.times
            _, _, slices = rows.get(content.key) or (0, 0, ())
            slices = (*slices, (time_ms, content.value))
            rows.put(content.key, slices, done_ms=done_ms, timer_ms=slices[0][0])

        return put


SLIDING = SlidingKind("sliding")


def sliding_store(name: str, *, key: Serde[K], value: Serde[V]) -> StoreSpec[SlidingStore[K, V]]:
    """Define the store of a sliding aggregation.

    Args:
        name: The store's name: unique in the topology, and recorded with the state.
        key: Serde of the keys.
        value: Serde of the values: the aggregator's `state`.
    """
    return StoreSpec(name, SLIDING, key, value)
