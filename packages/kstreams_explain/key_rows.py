"""The rows of one key in a store of any kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kstreams.state.backend.working import WorkingStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.times import Times
from kstreams.state.stores.spec import StoreSpec
from kstreams.windowed import Windowed
from kstreams_admin.row_text import RowText

__all__ = ("KeyRows", "Rows")

Rows = tuple[tuple[Any, ...], ...]
"""The rows of a key, as `kind.columns_of_key` returns them; empty if the key does not exist."""


@dataclass(frozen=True)
class KeyRows:
    """Reads one key of one store.

    Attributes:
        spec: The store.
        key: The key as an object, not serialized.
    """

    spec: StoreSpec[Any]
    key: object

    def of(self, live: object) -> Rows:
        """Return the rows of the key in a live store."""
        return tuple(self.spec.kind.flat_of_key(live, self.key, (None, None)))

    def stored(self, store: WorkingStore, times: Times) -> Rows:
        """Return the key's rows in a working store; omit rows that have expired at `times`."""
        return self.of(self.spec.open(Overlay(store, times=times)))

    def to_json(self, rows: Rows) -> list[dict[str, object]]:
        """Return rows as objects with the names of `kind.columns_of_key`."""
        key: Any = self.spec.key
        serde = key.parts[0] if key.type_token is Windowed else key
        text = RowText.of_key(self.spec, serde)
        return [text.row(row, key=False) for row in rows]
