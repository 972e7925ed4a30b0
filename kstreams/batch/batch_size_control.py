"""How many records a batch may read: more where one is quick."""

from __future__ import annotations

__all__ = ("Pace",)

_FIRST = 250_000
_ENOUGH_S = 0.5
_STEP = 2.0


class Pace:
    """Lets the batches of a backlog grow until one takes half a second.

    What a batch costs by itself is divided among more records then, and a key that many of them
    have gives one result. Where a batch takes longer it becomes smaller again, not below 250,000
    records: what a slow topology does with them is worth more than what the batch costs. Kept in
    memory alone; no result depends on it.

    Args:
        most: How many records a batch reads at most, and the first ones too if it is less than
            250,000.
    """

    def __init__(self, most: int) -> None:
        self._least = min(_FIRST, most)
        self._most = most
        self.records = self._least
        """How many the next batch may read."""

    def took(self, records: int, seconds: float) -> None:
        """Take in how long a batch took for so many records, from its beginning to its commit."""
        fits = records * min(_ENOUGH_S / max(seconds, 1e-9), _STEP)
        if fits > self.records:
            self.records = min(int(fits), self._most)
        elif seconds > _ENOUGH_S and records > self._least:
            self.records = max(int(fits), self._least, int(self.records / _STEP))
