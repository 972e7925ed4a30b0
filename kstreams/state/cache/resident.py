"""Data of a store kind that stays in memory from batch to batch, in its own form."""

from __future__ import annotations

from typing import Protocol

__all__ = ("Resident", "ResidentSlot")


class Resident(Protocol):
    """Such a form."""

    @property
    def size_bytes(self) -> int:
        """Return about how much memory it takes."""
        ...


class ResidentSlot:
    """The place of resident data in a store's part of an overlay.

    A batch that changes rows and does not keep the data again loses it; so does a failed batch.

    Args:
        inherited: The data at the first version of the overlay.
    """

    def __init__(self, inherited: Resident | None) -> None:
        self._inherited = inherited
        self._kept: Resident | None = None

    @property
    def found(self) -> Resident | None:
        """The data of the current rows, or None."""
        return self._inherited if self._kept is None else self._kept

    def take(self) -> Resident | None:
        """Return the data, and remove it."""
        found = self.found
        self._inherited = self._kept = None
        return found

    def keep(self, found: Resident) -> None:
        """Keep data of the rows including all puts, for this batch and the next one."""
        self._kept = found

    def committed(self, *, changed: bool) -> None:
        """Move to the next batch, given whether this batch has changed rows."""
        if changed or self._kept is not None:
            self._inherited, self._kept = self._kept, None
