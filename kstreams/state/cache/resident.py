"""Data that a store keeps in memory between batches, in a form that its store kind defines."""

from __future__ import annotations

from typing import Protocol

__all__ = ("Resident", "ResidentSlot")


class Resident(Protocol):
    """Data that a kind of store keeps in memory between batches, such as decoded rows."""

    @property
    def size_bytes(self) -> int:
        """Return the approximate memory of the data, in bytes."""
        ...


class ResidentSlot:
    """Holds the data that a store keeps in memory between batches (`Resident`).

    The data is dropped after a batch that changes rows without a call of `keep`, and after a failed
    batch.

    Args:
        inherited: The data that an earlier overlay kept at the same version; None without data.
    """

    def __init__(self, inherited: Resident | None) -> None:
        self._inherited = inherited
        self._kept: Resident | None = None

    @property
    def found(self) -> Resident | None:
        """The data that reflects the current rows, or None without data."""
        return self._inherited if self._kept is None else self._kept

    def take(self) -> Resident | None:
        """Remove and return the data; None without data."""
        found = self.found
        self._inherited = self._kept = None
        return found

    def keep(self, found: Resident) -> None:
        """Set the data for this batch and the next batch; it must reflect all puts so far."""
        self._kept = found

    def committed(self, *, changed: bool) -> None:
        """End a batch: drop the data if the batch `changed` rows without a call of `keep`."""
        if changed or self._kept is not None:
            self._inherited, self._kept = self._kept, None
