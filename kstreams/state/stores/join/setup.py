"""What a join of streams is set to, and how far it has come."""

from __future__ import annotations

from typing import Final, NamedTuple

from kstreams.times import FAR_MS

__all__ = ("NO_CLOCKS", "NO_SETUP", "Clocks", "Setup")


class Setup(NamedTuple):
    """What a join is set to; all in ms.

    Attributes:
        width: How long a bucket is: a power of two.
        before: How far before the left record the right one may lie.
        after: How far after it.
        grace: How long after that results are final.
    """

    width: int
    before: int
    after: int
    grace: int

    @property
    def memory(self) -> int:
        """How far back a side is remembered, from its newest record."""
        return self.before + self.after + self.grace

    def close(self, side: int, time_ms: int) -> int:
        """Return what stream time must pass before a record without a partner is final."""
        return time_ms + (self.before if side else self.after) + self.grace

    @classmethod
    def of(cls, before: int, after: int, grace: int) -> Setup:
        """Return a setup with the least width above all that is remembered."""
        return cls(1 << (before + after + grace).bit_length(), before, after, grace)


NO_SETUP: Final = Setup.of(0, 0, 0)
"""That of a store that no join has used yet."""


class Clocks(NamedTuple):
    """How far a join has come; times in ms.

    Attributes:
        number: What the next record is numbered by.
        newest_left: The newest record of the left side.
        newest_right: The same of the right side.
        final_left: Left records before it have gone out if they had no partner.
        final_right: The same of right records.
    """

    number: int
    newest_left: int
    newest_right: int
    final_left: int
    final_right: int

    def newest(self, side: int) -> int:
        """Return the newest record of a side, ms."""
        return self[1 + side]

    def final(self, side: int) -> int:
        """Return the time (ms) before which records of a side have gone out."""
        return self[3 + side]

    def after(self, side: int, time_ms: int, number: int) -> Clocks:
        """Return the clocks after a record of some number."""
        clocks = self._replace(number=max(self.number, number + 1))
        if side:
            return clocks._replace(newest_right=max(self.newest_right, time_ms))
        return clocks._replace(newest_left=max(self.newest_left, time_ms))


NO_CLOCKS: Final = Clocks(0, -FAR_MS, -FAR_MS, -FAR_MS, -FAR_MS)
"""Those of a join that had no record."""
