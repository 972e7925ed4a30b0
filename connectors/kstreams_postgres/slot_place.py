"""The position of a reader in a slot, as a plan stores it."""

from __future__ import annotations

from typing import NamedTuple

from kstreams_postgres.place_text import place_numbers, place_text

__all__ = ("COPY", "SlotPlace")

COPY = "copy"
"""The text of the place of the rows that existed before the slot."""


class SlotPlace(NamedTuple):
    """Consecutive transactions; the text of the place is `LSN-LSN:OFFSET-OFFSET`.

    Attributes:
        start_lsn: The position after the commit of the previous transaction.
        stop_lsn: The position after the commit of the last transaction.
        first: The first offset.
        stop: The offset after the last one.
    """

    start_lsn: int
    stop_lsn: int
    first: int
    stop: int

    def __str__(self) -> str:
        """Return the place as text."""
        return place_text(*self)

    @classmethod
    def parse(cls, text: str) -> SlotPlace:
        """Parse a place.

        Raises:
            StateCorruptError: The text is not a place.
        """
        return cls(*place_numbers(text, "slot"))
