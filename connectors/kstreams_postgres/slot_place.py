"""The position of a reader in a slot, as a plan stores it."""

from __future__ import annotations

from typing import NamedTuple

from kstreams_postgres.place_text import place_numbers, place_text

__all__ = ("COPY", "SlotPlace")

COPY = "copy"
"""The text of the place of the rows that existed before the slot."""


class SlotPlace(NamedTuple):
    """The changes of consecutive transactions; stored as `LSN-LSN:OFFSET-OFFSET` in a plan.

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
        """Return the text that a plan stores."""
        return place_text(*self)

    @classmethod
    def parse(cls, text: str) -> SlotPlace:
        """Parse the text that a plan stores.

        Raises:
            StateCorruptError: The text is not in this format.
        """
        return cls(*place_numbers(text, "slot"))
