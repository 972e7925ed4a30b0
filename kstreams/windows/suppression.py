"""Until when `suppress` holds results back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from kstreams.durations import span_ms
from kstreams.windows.kinds import Closing

__all__ = (
    "Full",
    "UntilTimeLimit",
    "UntilWindowCloses",
    "until_time_limit",
    "until_window_closes",
)

Full = Literal["fail", "emit-early"]
"""What happens when there is no room: stop the app, or release what stands first."""


@dataclass(frozen=True)
class UntilWindowCloses:
    """Hold each window's result back until it is final; made by `until_window_closes`."""

    windows: Closing


@dataclass(frozen=True)
class UntilTimeLimit:
    """Hold each key's result back for a span; made by `until_time_limit`."""

    limit_ms: int
    max_records: int | None
    full: Full


def until_window_closes(windows: Closing) -> UntilWindowCloses:
    """Release a window's last result when stream time has closed the window; once only.

    Deleted sessions are forgotten, not released.

    Args:
        windows: The windows of the aggregation above; their end and grace decide.

    Source: `org.apache.kafka.streams.kstream.Suppressed#untilWindowCloses`; it closes
    windows by the very rule of the aggregation.
    """
    return UntilWindowCloses(windows)


def until_time_limit(
    limit: timedelta, *, max_records: int | None = None, full: Full = "emit-early"
) -> UntilTimeLimit:
    """Release a key's last record once stream time is so far from its first.

    Args:
        limit: Span of stream time from the timestamp of the first record that is held
            back; later ones do not set it anew.
        max_records: How many records a task holds back at most; None: any number.
        full: With one record more: `emit-early` releases those that stand first, `fail`
            is a `ProcessingError`.

    Raises:
        ValueError: The limit is negative, or `max_records` below 0.

    Source: `org.apache.kafka.streams.kstream.Suppressed#untilTimeLimit`.
    """
    if max_records is not None and max_records < 0:
        raise ValueError(f"max_records is {max_records}, expected 0 or more")
    return UntilTimeLimit(span_ms("limit", limit), max_records, full)
