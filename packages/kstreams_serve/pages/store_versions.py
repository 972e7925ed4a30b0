"""The versions that a store can be read at, to choose from on a page."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from kstreams_serve.served_app import ServedApp, ServedStore

__all__ = ("Versions", "versions_of")


@dataclass(frozen=True)
class Versions:
    """The versions that a store can be read at.

    Attributes:
        batches: The retained batches, newest first.
        savepoints: The names of the savepoints.
        asked: The version that the page shows; empty for the newest.
    """

    batches: Sequence[int]
    savepoints: Sequence[str]
    asked: str

    @property
    def is_elsewhere(self) -> bool:
        """Whether the page shows a version outside of `batches` and `savepoints`."""
        return self.asked not in ("", *self.savepoints, *map(str, self.batches))


async def versions_of(app: ServedApp, store: ServedStore, asked: str | None) -> Versions:
    """Return the versions of a store.

    Args:
        app: The app.
        store: The store.
        asked: The version that the page shows; None is the newest.
    """
    batches = await asyncio.to_thread(store.newest.place.batches)
    savepoints = await asyncio.to_thread(app.savepoints)
    return Versions(batches[::-1], savepoints, asked or "")
