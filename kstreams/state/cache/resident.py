"""What a kind of store keeps of its rows in memory, in a form of its own, from batch to batch."""

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
    """The place for it in a store's part of an overlay.

    A batch that changes rows and does not keep it anew loses it; so does one that fails.

    Args:
        inherited: What was known at the version that the overlay begins with.
    """

    def __init__(self, inherited: Resident | None) -> None:
        self._inherited = inherited
        self._kept: Resident | None = None

    @property
    def found(self) -> Resident | None:
        """What is known of the present rows, or None."""
        return self._inherited if self._kept is None else self._kept

    def take(self) -> Resident | None:
        """Return what is known, and let go of it."""
        found = self.found
        self._inherited = self._kept = None
        return found

    def keep(self, found: Resident) -> None:
        """Keep what is known of the rows with all that was put, for this batch and the next."""
        self._kept = found

    def committed(self, *, changed: bool) -> None:
        """Go on to the next batch; tell whether this one has changed rows."""
        if changed or self._kept is not None:
            self._inherited, self._kept = self._kept, None
