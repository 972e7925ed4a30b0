"""The contracts of window kinds, which a custom kind implements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ("MAX_WINDOWS", "Closing", "TimeWindows")

MAX_WINDOWS = 5_000
"""The default maximum number of windows that contain a record."""


class Closing(Protocol):
    """When windows close; what `suppress(until_window_closes(...))` needs to know.

    A window with end E is closed once stream time is `E + close_delay_ms` or more.
    """

    @property
    def close_delay_ms(self) -> int:
        """Return the time from the end of a window to its close, ms.

        The time is the grace and the addition of the kind.
        """
        ...

    @property
    def close_interval_ms(self) -> int:
        """Return a span (ms, 1 or more) that divides every time at which a window closes.

        1 is always right; a larger one saves work. With one that does not divide them all
        final results come later, and stay right.
        """
        ...


class TimeWindows(Closing, Protocol):
    """Windows laid out in time, the same for all keys, ends exclusive.

    A start identifies a window, and a later start has no earlier end. Pure functions,
    equal in every process; instances compare by value and pickle.

    Example:
        Windows of six hours from 04:00 UTC on, as shifts are:

        >>> class Shifts:
        ...     close_delay_ms, close_interval_ms = 0, 3_600_000
        ...
        ...     def starts(self, timestamp_ms: int) -> list[int]:
        ...         hour = 3_600_000
        ...         return [(timestamp_ms - 4 * hour) // (6 * hour) * 6 * hour + 4 * hour]
        ...
        ...     def end(self, start_ms: int) -> int:
        ...         return start_ms + 6 * 3_600_000
        >>> Shifts().starts(0)
        [-7200000]

    Source: `org.apache.kafka.streams.kstream.Windows`.
    """

    def starts(self, timestamp_ms: int) -> Sequence[int]:
        """Return the starts of the windows that hold a time, rising; none drops the record.

        A record that more than `MAX_WINDOWS` hold is an error, unless the kind of windows
        has an attribute `max_windows` that allows for more.
        """
        ...

    def end(self, start_ms: int) -> int:
        """Return the end of the window with a start, ms, exclusive."""
        ...
