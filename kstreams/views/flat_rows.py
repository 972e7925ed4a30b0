"""The rows of a store as flat tuples, for whoever shows or exports them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kstreams.errors import StoreKindError
from kstreams.serde.base import Serde
from kstreams.state.stores.kind import Times, is_within
from kstreams.views.store_reads import StoreReads
from kstreams.windowed import Windowed

__all__ = ("columns_of", "key_serde", "rows_of", "rows_of_key")

_Row = tuple[Any, ...]


def columns_of(view: StoreReads[Any]) -> tuple[str, ...]:
    """Return the names of what `rows_of` yields."""
    columns = view.spec.kind.columns
    return ("key", "start_ms", "end_ms", *columns[1:]) if _has_windows(view) else columns


def key_serde(view: StoreReads[Any]) -> Serde[Any]:
    """Return the serde of what `rows_of` yields as keys: of windowed ones, their own key's."""
    key: Any = view.spec.key
    found: Serde[Any] = key.parts[0] if _has_windows(view) else key
    return found


def _has_windows(view: StoreReads[Any]) -> bool:
    return view.spec.key.type_token is Windowed


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
    kind, windowed = view.spec.kind, _has_windows(view)
    low, high = (None, None) if windowed else (start, end)
    found = view.scan(
        lambda store: kind.scan(store, low, high, reverse=reverse),
        order=kind.order(view.spec),
        reverse=reverse,
    )
    for row in found:
        parts = list(kind.flat(row))
        for key, *rest in reversed(parts) if reverse else parts:
            if not windowed:
                yield key, *rest
            elif is_within(key.key, start, end):
                yield key.key, key.start_ms, key.end_ms, *rest


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
