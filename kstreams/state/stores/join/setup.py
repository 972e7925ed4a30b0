"""The time spans of a stream-stream join, and the newest and final times of its sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kstreams.times import FAR_MS

__all__ = ("NO_CLOCKS", "NO_SETUP", "Clocks", "Setup")


class Setup(NamedTuple):
    """The time spans of a join, in ms.

    Attributes:
        width: The width of a time bucket: a power of two.
        before: The span before a left record in which right records match.
        after: The span after a left record in which right records match.
        grace: The additional span until results are final.
    """

    width: int
    before: int
    after: int
    grace: int

    @property
    def memory(self) -> int:
        """The age (ms), relative to a side's newest record, up to which the side keeps records."""
        return self.before + self.after + self.grace

    def close(self, side: int, time_ms: int) -> int:
        """Return the stream time (ms) after which a record can no longer find a partner.

        Args:
            side: The side of the record: 0 for left, 1 for right.
            time_ms: The timestamp of the record, ms since the epoch.
        """
        return time_ms + (self.before if side else self.after) + self.grace

    @classmethod
    def of(cls, before: int, after: int, grace: int) -> Setup:
        """Return a setup whose width is the smallest power of two above `memory`."""
        return cls(1 << (before + after + grace).bit_length(), before, after, grace)


NO_SETUP: Final = Setup.of(0, 0, 0)
"""The setup of a store that no join has used yet."""


class Clocks(NamedTuple):
    """The newest and final times of a join's sides, ms, and the next record number.

    Attributes:
        number: The number of the next record.
        newest_left: The time of the newest left record.
        newest_right: The time of the newest right record.
        final_left: Left records before this time were forwarded if they had no partner.
        final_right: Right records before this time were forwarded if they had no partner.
    """

    number: int
    newest_left: int
    newest_right: int
    final_left: int
    final_right: int

    @classmethod
    def following(cls, others: Sequence[Clocks], number: int) -> Clocks:
        """Return the clocks of a store that has records of other stores.

        The final times are the earliest, so that each record without a partner will be forwarded.

        Args:
            others: The clocks of the other stores, at least one.
            number: The lowest possible number of the next record.
        """
        numbers, *newest = zip(*(each[:3] for each in others), strict=True)
        finals = zip(*(each[3:] for each in others), strict=True)
        return cls(max(number, *numbers), *map(max, newest), *map(min, finals))

    def newest(self, side: int) -> int:
        """Return the time of a side's newest record, ms."""
        return self[1 + side]

    def final(self, side: int) -> int:
        """Return the time (ms) before which a side's records without a partner were forwarded."""
        return self[3 + side]

    def after(self, side: int, time_ms: int, number: int) -> Clocks:
        """Return the clocks after a record with this side, time (ms) and number."""
        clocks = self._replace(number=max(self.number, number + 1))
        if side:
            return clocks._replace(newest_right=max(self.newest_right, time_ms))
        return clocks._replace(newest_left=max(self.newest_left, time_ms))


NO_CLOCKS: Final = Clocks(0, -FAR_MS, -FAR_MS, -FAR_MS, -FAR_MS)
"""The progress of a join before its first record."""
