"""The rows of a store as flat tuples, for whoever shows or exports them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kstreams.errors import StoreKindError
from kstreams.serde.base import Serde
from kstreams.state.stores.kind import StoreKind, Times, is_within
from kstreams.state.stores.spec import StoreSpec
from kstreams.views.store_reads import StoreReads
from kstreams.windowed import Windowed

__all__ = (
    "columns_of",
    "flat_parts",
    "key_serde",
    "lies_by_key",
    "row_columns",
    "row_key",
    "rows_looked_at",
    "rows_of",
    "rows_of_key",
)

_Row = tuple[Any, ...]


def columns_of(view: StoreReads[Any]) -> tuple[str, ...]:
    """Return the names of what `rows_of` yields."""
    return row_columns(view.spec)


def row_columns(spec: StoreSpec[Any]) -> tuple[str, ...]:
    """Return the same of a store's definition."""
    columns = spec.kind.columns
    is_windowed = spec.key.type_token is Windowed
    return ("key", "start_ms", "end_ms", *columns[1:]) if is_windowed else columns


def key_serde(view: StoreReads[Any]) -> Serde[Any]:
    """Return the serde of what `rows_of` yields as keys: of windowed ones, their own key's."""
    return row_key(view.spec)


def row_key(spec: StoreSpec[Any]) -> Serde[Any]:
    """Return the same of a store's definition."""
    key: Any = spec.key
    found: Serde[Any] = key.parts[0] if key.type_token is Windowed else key
    return found


def _has_windows(view: StoreReads[Any]) -> bool:
    return view.spec.key.type_token is Windowed


def lies_by_key(view: StoreReads[Any]) -> bool:
    """Return whether the rows come in the order of the keys that `rows_of` yields."""
    return type(view.spec.kind).order is StoreKind.order and not _has_windows(view)


def rows_of(
    view: StoreReads[Any], start: object = None, end: object = None, *, reverse: bool = False
) -> Iterator[_Row]:
    """Yield the rows of a store, as flat tuples; those that lie by time are all looked at.

    Args:
        view: A view of the store.
        start: The first key; None is open.
        end: The key to stop before; None is open.
        reverse: From the last to the first.

    Raises:
        StoreKindError: The store's kind does not say what rows it has.
    """
    found = rows_looked_at(view, start, end, reverse=reverse)
    return (row for row in found if row is not None)


def rows_looked_at(
    view: StoreReads[Any],
    start: object = None,
    end: object = None,
    *,
    times: Times = (None, None),
    reverse: bool = False,
) -> Iterator[_Row | None]:
    """Yield what `rows_of` does, and None for each row that had to be looked at and is none.

    So whoever takes them can stop, or let others go on, wherever the rows that are wanted lie.

    Args:
        view: A view of the store.
        start: The first key; None is open.
        end: The key to stop before; None is open.
        times: Of windows and sessions, from which start on, and before which; in ms.
        reverse: From the last to the first.

    Raises:
        StoreKindError: As `rows_of`; or times are given for rows without a start.
    """
    kind, by_key = view.spec.kind, lies_by_key(view)
    columns = columns_of(view)
    when = columns.index("start_ms") if "start_ms" in columns else None
    if times != (None, None) and when is None:
        raise StoreKindError(f"rows of a {kind.name} store have no start to choose by")
    low, high = (start, end) if by_key else (None, None)
    found = view.scan(
        lambda store: kind.scan(store, low, high, reverse=reverse),
        order=kind.order(view.spec),
        reverse=reverse,
    )
    for row in found:
        parts = flat_parts(view, row)
        for flat in reversed(parts) if reverse else parts:
            inside = by_key or is_within(flat[0], start, end)
            if inside and (when is None or is_within(flat[when], *times)):
                yield flat
            else:
                yield None


def flat_parts(view: StoreReads[Any], row: Any) -> list[_Row]:  # noqa: ANN401  # of the kind
    """Return a row of the kind's `scan` as what `rows_of` yields: one tuple, or more."""
    parts = view.spec.kind.flat(row)
    if not _has_windows(view):
        return [*parts]
    return [(key.key, key.start_ms, key.end_ms, *rest) for key, *rest in parts]


def rows_of_key(view: StoreReads[Any], key: object, times: Times) -> Iterator[_Row]:
    """Yield what a store has of a key, as flat tuples without the key.

    Raises:
        StoreKindError: The store's kind does not say what rows it has; or times are given for
            one that has none to choose.
    """
    kind = view.spec.kind
    if times != (None, None) and not kind.has_times:
        raise StoreKindError(f"a {kind.name} store has no times to choose")
    return view.scan_key(key, lambda store: kind.flat_of_key(store, key, times))
