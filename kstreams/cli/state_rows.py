"""The rows of a store as flat tuples, for the commands that show or export them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kstreams.cli.usage import WrongUsageError
from kstreams.serde.base import Serde
from kstreams.state.stores.buffered import BufferedResult
from kstreams.views.view import View
from kstreams.windowed import Windowed

__all__ = ("Times", "columns_of", "key_serde", "rows_of", "rows_of_key")

Times = tuple["int | None", "int | None"]
"""Bounds in ms: from, and before."""

_Row = tuple[Any, ...]

_HELD_BACK = ("key", "start_ms", "end_ms", "due_ms", "value", "timestamp_ms")
_COLUMNS: dict[str, tuple[str, ...]] = {
    "window": ("key", "start_ms", "value"),
    "session": ("key", "start_ms", "end_ms", "value"),
    "timestamped": ("key", "value", "timestamp_ms"),
    "versioned": ("key", "value", "timestamp_ms"),
    "sliding": ("key", "time_ms", "value"),
    "buffer": ("key", "value", "timestamp_ms", "time_ms"),
    "pending": _HELD_BACK,
    "paced": _HELD_BACK,
}


def columns_of(view: View[Any]) -> tuple[str, ...]:
    """Return the names of what `rows_of` yields."""
    columns = _COLUMNS.get(view.spec.kind.name, ("key", "value"))
    return ("key", "start_ms", "end_ms", *columns[1:]) if _has_windows(view) else columns


def key_serde(view: View[Any]) -> Serde[Any]:
    """Return the serde of what `rows_of` yields as keys: of windowed ones, their own key's."""
    key: Any = view.spec.key
    found: Serde[Any] = key.parts[0] if _has_windows(view) else key
    return found


def _has_windows(view: View[Any]) -> bool:
    return view.spec.key.type_token is Windowed


def rows_of(
    view: View[Any], start: object = None, end: object = None, *, reverse: bool = False
) -> Iterator[_Row]:
    """Yield the rows of a store, as flat tuples; those that lie by time are all looked at.

    Args:
        view: Of the store.
        start: The first key; None is open.
        end: The key to stop before; None is open.
        reverse: From the last to the first.

    Raises:
        WrongUsageError: The store is of a user's own kind.
    """
    kind = view.spec.kind.name
    windowed = _has_windows(view)
    if kind in ("timestamped", "versioned", "list", "buffer") or kind.startswith("key-value"):
        if not windowed:
            return _by_key(view, start, end, reverse=reverse)
        rows = _by_key(view, None, None, reverse=reverse)
    elif kind in _COLUMNS:
        rows = _by_time(view, reverse=reverse)
    else:
        raise WrongUsageError(
            f"store {view.spec.name!r} is of kind {kind}, which has no rows to show", "STORE"
        )
    if windowed:
        rows = ((key.key, key.start_ms, key.end_ms, *rest) for key, *rest in rows)
    return (row for row in rows if _within(row[0], start, end))


def _within(key: Any, start: Any, end: Any) -> bool:  # noqa: ANN401  # keys of one type
    return (start is None or key >= start) and (end is None or key < end)


def _by_key(view: View[Any], start: object, end: object, *, reverse: bool) -> Iterator[_Row]:
    for key, found in view.range(start, end, reverse=reverse):
        yield from _flat(view.spec.kind.name, key, found, reverse=reverse)


def _by_time(view: View[Any], *, reverse: bool) -> Iterator[_Row]:
    kind = view.spec.kind.name
    everything: Iterator[Any] = view.fetch_all(reverse=reverse)
    for window, value in everything:
        match kind:
            case "window" | "sliding":
                yield window.key, window.start_ms, value
            case "pending" | "paced":
                yield window.key, *_held_back(window, value)
            case _:
                yield window.key, window.start_ms, window.end_ms, value


def _flat(
    kind: str,
    key: object,
    found: Any,  # noqa: ANN401  # erased
    *,
    reverse: bool,
) -> Iterator[_Row]:
    """Yield the rows of a key: one, or one an element of a list."""
    match kind:
        case "timestamped":
            yield key, *found
        case "versioned":
            yield key, found.value, found.timestamp
        case "buffer":
            yield key, found.record.value, found.record.timestamp, found.time_ms
        case "list":
            yield from ((key, item) for item in (reversed(found) if reverse else found))
        case _:
            yield key, found


def _held_back(window: Windowed[Any], result: BufferedResult[Any]) -> _Row:
    return window.start_ms, window.end_ms, result.due_ms, result.value, result.timestamp_ms


def rows_of_key(view: View[Any], key: object, times: Times) -> Iterator[_Row]:
    """Yield what a store has of a key, as flat tuples without the key.

    Raises:
        WrongUsageError: Times are given for a store that has none to choose.
    """
    low, high = times
    typed: Any = view  # by its kind
    match view.spec.kind.name:
        case "window" | "sliding":
            for window, value in typed.fetch(key, low, high):
                yield window.start_ms, value
        case "session":
            for window, value in typed.fetch(key):
                start, end = window.start_ms, window.end_ms
                if (low is None or end >= low) and (high is None or start < high):
                    yield start, end, value
        case "versioned":
            for version in typed.history(key, low, None if high is None else high - 1):
                yield version.timestamp, version.valid_to, version.value
        case kind if times != (None, None):
            raise WrongUsageError(f"a {kind} store has no times to choose", "--from / --to")
        case _:
            yield from _of_key(typed, key)


def _of_key(
    view: Any,  # noqa: ANN401  # of one kind or another
    key: object,
) -> Iterator[_Row]:
    match view.spec.kind.name:
        case "list":
            yield from ((item,) for item in view.get(key))
        case "pending" | "paced":
            yield from (_held_back(*pair) for pair in view.fetch(key))
        case "buffer":
            found = view.get(key)
            if found is not None:
                yield found.record.value, found.record.timestamp
        case _:
            found = view.get(key)
            if found is not None:
                yield found if isinstance(found, tuple) else (found,)
