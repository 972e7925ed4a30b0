"""A model of `suppress` by a dictionary, written from its docstring."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Update = tuple[Any, Any, int]
"""Key, value and timestamp (ms) of a record."""


class BufferFullError(Exception):
    """The buffer is full, with a limit that stops the app."""


@dataclass
class SuppressModel:
    """Holds the last record of each key until stream time is `delay_ms` after its start time.

    Args:
        delay_ms: Delay between the start time of a record and its release.
        by_window: The start time is the end of the key's window; otherwise it is the timestamp of
            the first held record.
        max_records: Maximum number of held records.
        fails: Raise an error at the limit, instead of an early release.
    """

    delay_ms: int
    by_window: bool = False
    max_records: int | None = None
    fails: bool = False
    held: dict[Any, tuple[int, Update]] = field(default_factory=dict)

    def put(self, update: Update, stream_time: int) -> list[Update]:
        """Add a record; return the released records."""
        key, value, timestamp = update
        if self.by_window and value is None:
            self.held.pop(key, None)
        else:
            place = key.end_ms if self.by_window else timestamp
            self.held[key] = (self.held[key][0] if key in self.held else place, update)
        released = self.tick(stream_time)
        while self.max_records is not None and len(self.held) > self.max_records:
            if self.fails:
                raise BufferFullError
            released.append(self.held.pop(self._order()[0])[1])
        return released

    def tick(self, stream_time: int) -> list[Update]:
        """Return the records released by stream time."""
        due = [key for key in self._order() if self.held[key][0] + self.delay_ms <= stream_time]
        return [self.held.pop(key)[1] for key in due]

    def _order(self) -> list[Any]:
        return sorted(self.held, key=lambda key: (self.held[key][0], _name(key)))


def _name(key: Any) -> Any:
    return key if isinstance(key, str) else (key.key, key.start_ms, key.end_ms)
