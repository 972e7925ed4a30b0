"""The maximum number of records of a batch, which grows if batches are fast."""

from __future__ import annotations

__all__ = ("Pace",)

_FIRST = 250_000
_ENOUGH_S = 0.5
_STEP = 2.0


class Pace:
    """Lets the batches of a backlog grow until a batch takes half a second.

    The fixed cost of a batch is then divided among more records, and a key with many records has
    one result. If a batch takes longer, the next ones shrink, not below 250,000 records, where the
    work of a slow topology exceeds the fixed cost. The maximum is kept only in memory; no result
    depends on it.

    Args:
        most: The maximum number of records of a batch; also of the first ones, if it is below
            250,000.
    """

    def __init__(self, most: int) -> None:
        self._least = min(_FIRST, most)
        self._most = most
        self.records = self._least
        """The maximum number of records of the next batch."""

    def took(self, records: int, seconds: float) -> None:
        """Adapt the maximum to the duration of a batch, from its beginning to its commit."""
        fits = records * min(_ENOUGH_S / max(seconds, 1e-9), _STEP)
        if fits > self.records:
            self.records = min(int(fits), self._most)
        elif seconds > _ENOUGH_S and records > self._least:
            self.records = max(int(fits), self._least, int(self.records / _STEP))
