"""The position of a reader in a slot, as a plan stores it."""

from __future__ import annotations

import re
from typing import NamedTuple

from kstreams.errors import StateCorruptError

__all__ = ("COPY", "SlotPlace")

COPY = "copy"
"""The place of the rows that existed before the slot."""

_FORM = re.compile(r"(\d{1,19})-(\d{1,19}):(\d{1,18})-(\d{1,18})")


class SlotPlace(NamedTuple):
    """Transactions that commit one after the other, in text `LSN-LSN:OFFSET-OFFSET`.

    Attributes:
        start_lsn: Behind the commit of the one before.
        stop_lsn: Behind the commit of the last.
        first: The first offset.
        stop: The offset after the last one.
    """

    start_lsn: int
    stop_lsn: int
    first: int
    stop: int

    def __str__(self) -> str:
        """Return the place as text."""
        return f"{self.start_lsn}-{self.stop_lsn}:{self.first}-{self.stop}"

    @classmethod
    def parse(cls, text: str) -> SlotPlace:
        """Read it again.

        Raises:
            StateCorruptError: It is none.
        """
        found = _FORM.fullmatch(text)
        if found is None:
            raise StateCorruptError(f"a plan names {text[:80]!r}, which is no place in a slot")
        return cls(*map(int, found.groups()))
