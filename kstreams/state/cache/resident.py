"""Data that a kind of store keeps in memory from batch to batch, in any form."""

from __future__ import annotations

from typing import Protocol

__all__ = ("Resident", "ResidentSlot")


class Resident(Protocol):
    """Data that a kind of store keeps in memory from batch to batch."""

    @property
    def size_bytes(self) -> int:
        """Return the approximate memory of the data, in bytes."""
        ...


class ResidentSlot:
    """Holds the resident data of a store's part of an overlay.

    The data is dropped after a batch that changes rows without a call of `keep`, and after a failed
    batch.

    Args:
        inherited: The data at the first version of the overlay.
    """

    def __init__(self, inherited: Resident | None) -> None:
        self._inherited = inherited
        self._kept: Resident | None = None

    @property
    def found(self) -> Resident | None:
        """The data of the current rows, or None if there is none."""
        return self._inherited if self._kept is None else self._kept

    def take(self) -> Resident | None:
        """Return the data, or None, and remove it."""
        found = self.found
        self._inherited = self._kept = None
        return found

    def keep(self, found: Resident) -> None:
        """Keep data that reflects all puts so far, for this batch and the next batch."""
        self._kept = found

    def committed(self, *, changed: bool) -> None:
        """Move to the next batch, given whether this batch has changed rows."""
        if changed or self._kept is not None:
            self._inherited, self._kept = self._kept, None
