"""Moves of rows to new windows of another size or position, or sessions with a longer gap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kstreams.checkpoint.parameter_notes import misread_by
from kstreams.errors import CheckpointMismatchError
from kstreams.graph.topology import PartitionGroup
from kstreams.parameters import Parameters, parameters_of
from kstreams.state.stores.kind import Content
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.window.rows import WindowRows
from kstreams.windows.contract import TimeWindows
from kstreams.windows.kinds.session import SessionWindows
from kstreams.windows.supplier import WindowedSupplier

__all__ = (
    "Merge",
    "WindowMoves",
    "joined_sessions",
    "joined_windows",
    "window_moves",
    "windows_of_store",
)

_GAP = "windows.gap_ms"

WindowMoves = Callable[[int, Any], Sequence[int]]
"""Takes start (ms) and key of an old window; returns starts of the new windows containing it."""


Merge = Callable[[Any, Any, Any], object]
"""Takes a key and two values of the key, the earlier first; returns the merged value."""


def windows_of_store(
    group: PartitionGroup, store: StoreSpec[Any], recorded: Parameters
) -> TimeWindows | SessionWindows | None:
    """Return the new window definition to which rows may have to move; None if rows stay.

    Args:
        group: The group of the new topology.
        store: The definition of a store of the group.
        recorded: The recorded parameters of the old store.
    """
    windows = _aggregated_by(group, store)
    if isinstance(windows, SessionWindows):
        gap = recorded.get(_GAP)
        return windows if isinstance(gap, int) and windows.gap_ms > gap else None
    if not store.kind.has_grid:
        return None
    known: Any = store.kind.grid  # a store only needs the ends
    found: TimeWindows | None = windows or known
    return found


def _aggregated_by(group: PartitionGroup, store: StoreSpec[Any]) -> Any:  # noqa: ANN401
    for node in group.processors:
        supplier = node.supplier
        if isinstance(supplier, WindowedSupplier) and supplier.plan.store.name == store.name:
            return supplier.plan.windows
    return None


def joined_sessions(contents: Iterable[Content], gap_ms: int, merge: Merge) -> Iterator[Content]:
    """Yield sessions, after merging a key's sessions that are at most `gap_ms` apart.

    Args:
        contents: Sessions by key and start, with start and end (ms).
        gap_ms: The inactivity gap, ms.
        merge: Merges the values of two sessions.
    """
    before: Content | None = None
    for content in contents:
        if before is None:
            before = content
        elif before.key == content.key and content.times[0] - before.times[1] <= gap_ms:
            value = merge(content.key, before.value, content.value)
            end_ms = max(before.times[1], content.times[1])
            before = Content(content.key, value, (before.times[0], end_ms))
        else:
            yield before
            before = content
    if before is not None:
        yield before


def joined_windows(
    rows: WindowRows[Any, Any], move: WindowMoves, merge: Merge
) -> Callable[[Content], object]:
    """Return a function that merges an old window into the new windows of the store.

    Args:
        rows: The rows of the new store.
        move: Returns the starts of the new windows, given an old window's start and key.
        merge: Merges the values of two windows.
    """
    write = rows.writer()

    def put(content: Content) -> None:
        start_ms, time_ms = content.times
        for start in move(start_ms, content.key):
            value, latest = content.value, time_ms
            before = rows.overlay.get((start, content.key))
            if before is not None:
                value = merge(content.key, before[0], value)
                latest = max(before[1], time_ms)
            write((start, content.key), (value, latest))

    return put


def window_moves(old: StoreSpec[Any], new: TimeWindows | None) -> WindowMoves | None:
    """Return a function that finds the new windows of an old window; None if windows stay the same.

    Args:
        old: Definition of the old store.
        new: The new window definition, if known.
    """
    grid: Any = old.kind.grid  # a store only needs the ends
    if grid is None or new is None:
        return None
    if not misread_by(parameters_of("windows", grid), parameters_of("windows", new)):
        return None
    return _Moves(old.name, grid, new)


class _Moves:
    """Finds the new windows of an old window.

    Args:
        store: Name of the old store.
        old: The old window definition.
        new: The new window definition.
    """

    def __init__(self, store: str, old: TimeWindows, new: TimeWindows) -> None:
        self._store = store
        self._old = old
        self._new = new

    def __call__(self, start_ms: int, key: object) -> Sequence[int]:
        last = self._old.end(start_ms) - 1
        starts = tuple(self._new.starts(start_ms))
        if not starts or starts != tuple(self._new.starts(last)):
            raise self._refused(start_ms, key, f"lies in several windows of {self._new}")
        if len(self._old.starts(start_ms)) > 1 or len(self._old.starts(last)) > 1:
            raise self._refused(start_ms, key, f"overlaps other windows of {self._old}")
        return starts

    def _refused(self, start_ms: int, key: object, why: str) -> CheckpointMismatchError:
        end_ms = self._old.end(start_ms)
        return CheckpointMismatchError(
            f"store {self._store!r}: the window [{start_ms}, {end_ms}) of key {key!r} {why}: its "
            "state cannot be divided",
            hint=f"empty the store: App(reset={{{self._store!r}}}); or close its windows first "
            "with the previous topology: App.run(until='end', close_windows=True).",
        )
