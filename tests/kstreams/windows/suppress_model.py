"""What `suppress` forwards, by a dictionary: the rules of its docstring, written again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Update = tuple[Any, Any, int]
"""Key, value and timestamp (ms) of a record."""


class BufferFullError(Exception):
    """The buffer is full, and the bound is one that stops the app."""


@dataclass
class SuppressModel:
    """Holds the last record of each key until stream time is `delay_ms` after its place.

    Args:
        delay_ms: From a record's place until it is due.
        by_window: A place is the end of the key's window; otherwise, the timestamp of the first
            record that is held.
        max_records: The most records to hold.
        fails: Whether one more is an error, rather than an early result.
    """

    delay_ms: int
    by_window: bool = False
    max_records: int | None = None
    fails: bool = False
    held: dict[Any, tuple[int, Update]] = field(default_factory=dict)

    def put(self, update: Update, stream_time: int) -> list[Update]:
        """Take a record; return what is released."""
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
        """Return what stream time has made due."""
        due = [key for key in self._order() if self.held[key][0] + self.delay_ms <= stream_time]
        return [self.held.pop(key)[1] for key in due]

    def _order(self) -> list[Any]:
        return sorted(self.held, key=lambda key: (self.held[key][0], _name(key)))


def _name(key: Any) -> Any:
    return key if isinstance(key, str) else (key.key, key.start_ms, key.end_ms)
