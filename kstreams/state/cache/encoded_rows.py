"""Access to a store's rows as encoded keys and values, for columnar operations."""

from __future__ import annotations

from collections.abc import Sequence

from kstreams.state.cache.store_overlay import MISSING, StoreOverlay

__all__ = ("EncodedRows",)


class EncodedRows:
    """Reads and writes many encoded rows at a time.

    Creating this object switches the overlay's caches from objects to bytes. The overlay's own
    methods still accept and return objects, which they encode and decode at each call.

    Args:
        overlay: The store's write-back cache.

    Attributes:
        name: Name of the store.
        scan: Returns an iterator over the encoded pairs with `start <= key < end`, in order; its
            arguments are those of `StoreOverlay.scan`.
        delete_range: Deletes all keys with `start <= key < end`, without reading them.
        resident: Data that the store keeps in memory between batches; see `Resident`.
    """

    def __init__(self, overlay: StoreOverlay) -> None:
        overlay.keep_bytes()
        self.name = overlay.name
        self.scan = overlay.merged.scan_encoded
        self.delete_range = overlay.delete_range
        self.resident = overlay.resident
        self._overlay = overlay

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of many keys, in the order of the keys; reads the backend once."""
        overlay = self._overlay
        overlay.drop_stale()
        dirty, clean = overlay.dirty, overlay.clean
        wanted = [key for key in keys if key not in dirty and key not in clean]
        if wanted:
            clean.update(zip(wanted, overlay.stored.multi_get(wanted), strict=True))
        return [dirty[key] if key in dirty else clean[key] for key in keys]

    def put_many(self, keys: Sequence[bytes], values: Sequence[bytes | None]) -> None:
        """Set the values of many keys, one value per key; None deletes a key."""
        dirty, journal = self._overlay.dirty, self._overlay.journal
        if journal is not None:
            before = dirty.get
            journal += [(key, before(key, MISSING)) for key in keys]
        dirty.update(zip(keys, values, strict=True))
