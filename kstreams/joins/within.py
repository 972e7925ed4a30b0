"""How near two records must be in time to be joined."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from kstreams.times import span_ms

__all__ = ("Within", "within")


@dataclass(frozen=True)
class Within:
    """`left.timestamp - before <= right.timestamp <= left.timestamp + after`.

    Attributes:
        before: How far before the left record the right one may lie, inclusive.
        after: How far after it, inclusive.
        grace: How long after that a record may come late, by stream time.

    Raises:
        ValueError: A span is negative or no whole number of milliseconds.

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
        """Return all three, in ms."""
        return (
            span_ms("before", self.before),
            span_ms("after", self.after),
            span_ms("grace", self.grace),
        )

    @property
    def terms(self) -> dict[str, int]:
        """Return the same by name."""
        return dict(zip(("before", "after", "grace"), self.spans_ms, strict=True))


def within(before: timedelta, after: timedelta | None = None, *, grace: timedelta) -> Within:
    """Join records that are near each other in time.

    Args:
        before: How far before the left record the right one may lie, inclusive.
        after: How far after it, inclusive; as far as before by default.
        grace: How long records may come late, by stream time. What has found no partner by
            then is final, and goes out where the joiner says so.

    Raises:
        ValueError: A span is negative or no whole number of milliseconds.

    Example:
        >>> from kstreams.durations import minutes, seconds
        >>> within(seconds(0), minutes(10), grace=minutes(1)).spans_ms
        (0, 600000, 60000)
    """
    return Within(before, before if after is None else after, grace)
