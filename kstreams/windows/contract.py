"""The protocols of window kinds, which custom windows implement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kstreams.stored_names import named_part

__all__ = ("MAX_WINDOWS", "Closing", "TimeWindows", "windows_name")

MAX_WINDOWS = 5_000
"""The default maximum number of windows that contain a record."""


class Closing(Protocol):
    """The closing times of windows, as `suppress(until_window_closes(...))` uses them.

    A window with end E is closed once stream time is `E + close_delay_ms` or more.
    """

    @property
    def close_delay_ms(self) -> int:
        """Return the time from the end of a window to its close, ms.

        The time is the grace plus an addition that depends on the kind of windows.
        """
        ...

    @property
    def close_interval_ms(self) -> int:
        """Return a span (ms, 1 or more) that divides every time at which a window closes.

        1 is always valid; a larger span saves work. If the span does not divide every closing time,
        final results are forwarded later, but are still correct.
        """
        ...


class TimeWindows(Closing, Protocol):
    """Windows laid out in time: the same for all keys, with exclusive ends.

    A window is identified by its start, and a window with a later start has no earlier end. The
    methods must be pure functions with the same results in every process. Instances must compare by
    value, and support pickling.

    An attribute `name`, a string such as `shifts-6h`, is the part of the names of stores that the
    library derives from code; see `windows_name`.

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
        """Return the starts (ms) of the windows that contain a time, ascending.

        If there is no start, the record is dropped. More than `MAX_WINDOWS` starts are an error,
        unless the windows have an attribute `max_windows` with a higher limit.
        """
        ...

    def end(self, start_ms: int) -> int:
        """Return the exclusive end (ms) of the window with the given start (ms)."""
        ...


def windows_name(windows: Closing) -> str:
    """Return the windows' part of stored names: `per-1m`, `sessions-30m`.

    The part is the attribute `name` of the windows, or else the name of their class, in lower case
    with dashes. The name of a built-in kind has its sizes, but not its grace: a store keeps its
    states if the grace changes.
    """
    return named_part(windows)
