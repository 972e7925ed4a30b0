"""What a store has of one key, as rows that any kind of store has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kstreams.state.backend.working import WorkingStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.times import Times
from kstreams.state.stores.spec import StoreSpec
from kstreams.views.row_text import RowText
from kstreams.windowed import Windowed

__all__ = ("KeyRows", "Rows")

Rows = tuple[tuple[Any, ...], ...]
"""What a store has of a key: `kind.columns` without the key; empty where it has nothing."""


@dataclass(frozen=True)
class KeyRows:
    """Reads one key of one store.

    Attributes:
        spec: The store.
        key: The key, as an object.
    """

    spec: StoreSpec[Any]
    key: object

    def of(self, live: object) -> Rows:
        """Return what a live store has."""
        return tuple(self.spec.kind.flat_of_key(live, self.key, (None, None)))

    def stored(self, store: WorkingStore, times: Times) -> Rows:
        """Return what encoded rows have, at the times that they expire by."""
        return self.of(self.spec.open(Overlay(store, times=times)))

    def to_json(self, rows: Rows) -> list[dict[str, object]]:
        """Return rows as objects, by the names of the kind's columns."""
        key: Any = self.spec.key
        serde = key.parts[0] if key.type_token is Windowed else key
        text = RowText(self.spec, serde, self.spec.kind.columns)
        return [text.row(row, key=False) for row in rows]
