"""The rows of a store as flat tuples, for display and export."""

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
    """Return the column names of the tuples that `rows_of` yields."""
    return row_columns(view.spec)


def row_columns(spec: StoreSpec[Any]) -> tuple[str, ...]:
    """Return the column names of the rows of a store definition."""
    columns = spec.kind.columns
    is_windowed = spec.key.type_token is Windowed
    return ("key", "start_ms", "end_ms", *columns[1:]) if is_windowed else columns


def key_serde(view: StoreReads[Any]) -> Serde[Any]:
    """Return the serde of the keys that `rows_of` yields: the inner key, if keys are windowed."""
    return row_key(view.spec)


def row_key(spec: StoreSpec[Any]) -> Serde[Any]:
    """Return the serde of the keys of flat rows, for a store definition; see `key_serde`."""
    key: Any = spec.key
    found: Serde[Any] = key.parts[0] if key.type_token is Windowed else key
    return found


def _has_windows(view: StoreReads[Any]) -> bool:
    return view.spec.key.type_token is Windowed


def lies_by_key(view: StoreReads[Any]) -> bool:
    """Return whether the store's rows are ordered by the keys that `rows_of` yields."""
    return type(view.spec.kind).order is StoreKind.order and not _has_windows(view)


def rows_of(
    view: StoreReads[Any], start: object = None, end: object = None, *, reverse: bool = False
) -> Iterator[_Row]:
    """Yield the rows of a store as flat tuples.

    A store whose rows are ordered by time is scanned completely, even for a range of keys.

    Args:
        view: A view of the store.
        start: The first key; None means no lower bound.
        end: The exclusive end key; None means no upper bound.
        reverse: Whether to yield the last row first.

    Raises:
        StoreKindError: The store kind does not describe its rows.
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
    """Yield the rows of `rows_of`, and None for each scanned row that does not match.

    Thus the caller can stop or yield control even if few rows match.

    Args:
        view: A view of the store.
        start: The first key; None means no lower bound.
        end: The exclusive end key; None means no upper bound.
        times: Start times of windows and sessions, ms: the first one and the exclusive end.
        reverse: Whether to yield the last row first.

    Raises:
        StoreKindError: See `rows_of`; or `times` is given for rows without a start time.
    """
    kind, by_key = view.spec.kind, lies_by_key(view)
    columns = columns_of(view)
    when = columns.index("start_ms") if "start_ms" in columns else None
    if times != (None, None) and when is None:
        raise StoreKindError(
            f"rows of a {kind.name} store have no start time; leave out the time options"
        )
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
    """Return the flat tuples of one row that `StoreKind.scan` of the view's store has yielded."""
    parts = view.spec.kind.flat(row)
    if not _has_windows(view):
        return [*parts]
    return [(key.key, key.start_ms, key.end_ms, *rest) for key, *rest in parts]


def rows_of_key(view: StoreReads[Any], key: object, times: Times) -> Iterator[_Row]:
    """Yield the rows of a key as flat tuples without the key.

    Args:
        view: A view of the store.
        key: The key.
        times: The selected times, ms since the epoch: start and exclusive end; None for no limit.

    Raises:
        StoreKindError: The store kind does not describe its rows; or `times` is given for a store
            without times.
    """
    kind = view.spec.kind
    if times != (None, None) and not kind.has_times:
        raise StoreKindError(f"a {kind.name} store has no times; leave out the time options")
    return view.scan_key(key, lambda store: kind.flat_of_key(store, key, times))
