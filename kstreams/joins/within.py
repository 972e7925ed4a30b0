"""The time window of a stream join."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from kstreams.times import span_ms

__all__ = ("Within", "within")


@dataclass(frozen=True)
class Within:
    """The condition `left.timestamp - before <= right.timestamp <= left.timestamp + after`.

    Attributes:
        before: Maximum time by which the right record precedes the left one, inclusive.
        after: Maximum time by which the right record follows the left one, inclusive.
        grace: Maximum delay of records behind stream time.

    Raises:
        ValueError: A span is negative or not a whole number of milliseconds.

    Source: `org.apache.kafka.streams.kstream.JoinWindows`.
    """

    before: timedelta
    after: timedelta
    grace: timedelta

    def __post_init__(self) -> None:
        """Check the spans."""
        _ = self.spans_ms

    @property
    def spans_ms(self) -> tuple[int, int, int]:
        """Return `before`, `after` and `grace`, in ms."""
        return (
            span_ms("before", self.before),
            span_ms("after", self.after),
            span_ms("grace", self.grace),
        )

    @property
    def terms(self) -> dict[str, int]:
        """Return the spans in ms, by name."""
        return dict(zip(("before", "after", "grace"), self.spans_ms, strict=True))


def within(before: timedelta, after: timedelta | None = None, *, grace: timedelta) -> Within:
    """Define the time window of a stream-stream join.

    Args:
        before: Maximum time by which the right record precedes the left one, inclusive.
        after: Maximum time by which the right record follows the left one, inclusive; `before` by
            default.
        grace: Maximum delay of records behind stream time. When it has passed, an unmatched record
            is final, and is forwarded alone if the joiner keeps its side.

    Raises:
        ValueError: A span is negative or not a whole number of milliseconds.

    Example:
        >>> from kstreams.durations import minutes, seconds
        >>> within(seconds(0), minutes(10), grace=minutes(1)).spans_ms
        (0, 600000, 60000)
    """
    return Within(before, before if after is None else after, grace)
