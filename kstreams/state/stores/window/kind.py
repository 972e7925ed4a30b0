"""The kind of window stores, and the function that defines such a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override

from kstreams._types import K, V
from kstreams.parameters import Parameters, parameters_of
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import ChangelogForm
from kstreams.state.stores.kind import Content, StoreKind, Times, is_within
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.window.changelog import WindowForm
from kstreams.state.stores.window.rows import WindowRows
from kstreams.state.stores.window.store import WindowEnds, WindowStore
from kstreams.windowed import Windowed

__all__ = ("WINDOW", "WindowKind", "window_store")


_Live = WindowStore[Any, Any]
_Row = tuple[Windowed[Any], Any]
"""A key with its window, and the window's value."""


@dataclass(frozen=True)
class WindowKind(StoreKind[_Live]):
    """The kind of stores with one value per window, ordered by start, then by key.

    Args:
        name: The kind's name.
        windows: The window definition, which determines the ends of windows; None if not known.
    """

    columns: ClassVar[tuple[str, ...]] = ("key", "start_ms", "value")
    has_times: ClassVar[bool] = True
    has_grid: ClassVar[bool] = True

    windows: WindowEnds | None = None

    @property
    @override
    def grid(self) -> WindowEnds | None:
        return self.windows

    divides_rows: ClassVar[bool] = True

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return WindowStore(spec, overlay, windows=self.windows)

    def parameters(self) -> Parameters:
        """Return the parameters of the window definition; empty if it is not known."""
        return {} if self.windows is None else parameters_of("windows", self.windows)

    def unlike(self, wanted: StoreKind[Any]) -> str:
        """Return the difference of the window definitions as text; empty if they are equal.

        The text is also empty if one of the definitions is not known.
        """
        windows = wanted.windows if isinstance(wanted, WindowKind) else None
        if self.windows is None or self.windows == windows:
            return ""
        return f"defined with windows {self.windows}, but aggregated with {windows}"

    @override
    def key_of_row(self, row: bytes) -> bytes | None:
        return row[8:]

    @override
    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        return WindowForm(spec)

    def routed_by(self, key: Windowed[Any]) -> object:
        """Return the key, without its window."""
        return key.key

    @override
    def scan(self, store: _Live, start: object, end: object, *, reverse: bool) -> Iterator[_Row]:
        rows = store.fetch_all(reverse=reverse)
        return (row for row in rows if is_within(row[0].key, start, end))

    def order(self, spec: StoreSpec[_Live]) -> Callable[[_Row], tuple[int, bytes]]:
        """Return a function that returns start and key of a row."""
        data = spec.key.ordered.serialize
        return lambda row: (row[0].start_ms, data(row[0].key))

    @override
    def flat(self, row: _Row) -> Iterator[tuple[Any, ...]]:
        window, value = row
        yield window.key, window.start_ms, value

    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        """Yield start and value of the key's windows that start within the time span `times`."""
        return ((window.start_ms, value) for window, value in store.fetch(key, *times))

    @override
    def fill(self, store: _Live, key: Windowed[Any], value: Any) -> None:
        store.put(key, value)

    @override
    def evict(self, store: _Live, key: Windowed[Any]) -> None:
        store.delete(key)

    def contents(self, spec: StoreSpec[_Live], overlay: Overlay) -> Iterator[Content]:
        """Yield keys and values, with window starts and timestamps."""
        rows: WindowRows[Any, Any] = WindowRows.of(self.open(spec, overlay))
        for (start_ms, key), (value, timestamp_ms) in rows.scan():
            yield Content(key, value, (start_ms, timestamp_ms))

    @override
    def filling(self, spec: StoreSpec[_Live], overlay: Overlay) -> Callable[[Content], object]:
        rows: WindowRows[Any, Any] = WindowRows.of(self.open(spec, overlay))
        write = rows.writer()

        def put(content: Content) -> None:
            start_ms, timestamp_ms = content.times
            write((start_ms, content.key), (content.value, timestamp_ms))

        return put


WINDOW = WindowKind("window")


def window_store(
    name: str, *, key: Serde[K], value: Serde[V], windows: WindowEnds | None = None
) -> StoreSpec[WindowStore[K, V]]:
    """Define a window store.

    Args:
        name: The store's name: unique in the topology, and recorded with the state.
        key: Serde of the keys.
        value: Serde of the values; for `windowed_aggregate` the aggregator's `state`.
        windows: The window definition, which determines the ends of the windows that reads return.
            By default each end is `NEVER_ENDS`, as in Kafka Streams without a window size. Pass it
            if anything but the aggregation reads the store.
    """
    return StoreSpec(name, WindowKind("window", windows), key, value)
