"""Stores that a test may write to between batches, although processors may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.sealed import SealedJournal
from kstreams.state.cache.store_overlay import StoreOverlay

__all__ = ("ByHand",)

_WRITES = ("put", "put_many", "delete_range")


class ByHand(Overlay):
    """An overlay with the content of the task's overlay, whose stores accept puts at any time.

    Args:
        overlay: The overlay of the task, whose next batch includes the puts.
    """

    def __init__(self, overlay: Overlay) -> None:
        self.__dict__ = overlay.__dict__

    def store(self, name: str, key: Serde[Any], value: Serde[Any]) -> StoreOverlay:
        """Return the overlay of a store, which accepts puts at any time."""
        part: Any = _Unsealed(super().store(name, key, value))
        found: StoreOverlay = part
        return found


class _Unsealed:
    def __init__(self, store: StoreOverlay) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the store has
        found = getattr(self._store, name)
        return self._writing(found) if name in _WRITES else found

    def _writing(self, call: Callable[..., None]) -> Callable[..., None]:
        store = self._store

        def write(*args: object) -> None:
            journal = store.journal
            if not isinstance(journal, SealedJournal):
                call(*args)
                return
            store.journal = None
            try:
                call(*args)
            finally:
                store.journal = journal

        return write
