"""Replayed offsets of a partition as ranges: `0-17,20,22-30`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from kstreams.errors import StateCorruptError

__all__ = ("OffsetRanges",)

_RANGE = re.compile(r"(\d{1,19})(?:-(\d{1,19}))?")


class OffsetRanges:
    """A set of offsets, stored as ranges.

    Args:
        offsets: The initial offsets.
    """

    def __init__(self, offsets: Iterable[int] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for offset in offsets:
            self.add(offset)

    def __contains__(self, offset: int) -> bool:
        """Return whether an offset is in the set."""
        place = bisect_right(self._starts, offset) - 1
        return place >= 0 and offset < self._ends[place]

    def __eq__(self, other: object) -> bool:
        """Compare the offsets."""
        return isinstance(other, OffsetRanges) and str(self) == str(other)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def add(self, offset: int) -> None:
        """Add an offset; adding it again changes nothing."""
        place = bisect_right(self._starts, offset) - 1
        if place >= 0 and offset < self._ends[place]:
            return
        joins_left = place >= 0 and self._ends[place] == offset
        joins_right = place + 1 < len(self._starts) and self._starts[place + 1] == offset + 1
        if joins_left and joins_right:
            self._ends[place] = self._ends.pop(place + 1)
            del self._starts[place + 1]
        elif joins_left:
            self._ends[place] = offset + 1
        elif joins_right:
            self._starts[place + 1] = offset
        else:
            self._starts.insert(place + 1, offset)
            self._ends.insert(place + 1, offset + 1)

    def __str__(self) -> str:
        """Return the ranges as text, with both ends inclusive."""
        pairs = zip(self._starts, self._ends, strict=True)
        return ",".join(f"{a}" if b == a + 1 else f"{a}-{b - 1}" for a, b in pairs)

    @classmethod
    def parse(cls, text: str) -> OffsetRanges:
        """Parse the text that `str` returns.

        Raises:
            StateCorruptError: The text has another form.
        """
        found = cls()
        for part in filter(None, text.split(",")):
            match = _RANGE.fullmatch(part)
            start, end = (0, 0) if match is None else (int(match[1]), int(match[2] or match[1]) + 1)
            if match is None or start >= end or (found._ends and start <= found._ends[-1]):
                raise StateCorruptError(
                    f"the list of redelivered dead-letter offsets {text[:80]!r} is invalid at "
                    f"{part[:40]!r}: expected ascending ranges such as '0-16,18'",
                    hint="delete the list, and the next replay redelivers all dead letters again: "
                    "on Kafka delete the group kstreams-redelivery/<topic>, otherwise the file "
                    "redelivered.json in the directory of the topic.",
                )
            found._starts.append(start)
            found._ends.append(end)
        return found
