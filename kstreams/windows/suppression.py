"""The release conditions of `suppress`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from kstreams.options import checks_options
from kstreams.times import forever, span_ms
from kstreams.windows.contract import Closing

__all__ = (
    "Full",
    "UntilTimeLimit",
    "UntilWindowCloses",
    "until_time_limit",
    "until_window_closes",
)

Full = Literal["fail", "emit-early"]
"""The policy for a full buffer: stop the app, or release the first records."""


@checks_options
@dataclass(frozen=True)
class UntilWindowCloses:
    """The condition that releases a window's result when it is final; see `until_window_closes`."""

    windows: Closing
    max_records: int | None = None
    max_bytes: int | None = None
    full: Full = "fail"


@checks_options
@dataclass(frozen=True)
class UntilTimeLimit:
    """The condition that releases a key's last record after a time; see `until_time_limit`."""

    limit_ms: int
    max_records: int | None
    full: Full
    max_bytes: int | None = None

    @property
    def never_releases(self) -> bool:
        """Whether neither stream time nor a bound releases a record."""
        bounded = self.max_records is not None or self.max_bytes is not None
        is_long = self.limit_ms >= span_ms("limit", forever)
        return is_long and not (bounded and self.full == "emit-early")


def until_window_closes(
    windows: Closing, *, max_records: int | None = None, max_bytes: int | None = None
) -> UntilWindowCloses:
    """Release only the last result of a window, when stream time closes the window.

    Deleted sessions are removed from the buffer. With a bound, a full buffer is a `LimitError`,
    which stops the app: final results cannot be released early. Below an aggregation that emits
    `once_per_batch()`, results are released at the end of the batch. `UnlimitedWindows` are
    released only at the end of a run with `close_windows=True`.

    Args:
        windows: The windows of the upstream aggregation; their end and grace determine the release.
        max_records: The maximum number of results in the buffer of a task; None: no maximum,
            because the buffer is in the store, not in memory.
        max_bytes: The maximum number of bytes of stored keys and records; None: no maximum.

    Raises:
        ValueError: A bound is below 0.

    Source: `org.apache.kafka.streams.kstream.Suppressed#untilWindowCloses`; windows close by the
    rule of the aggregation.
    """
    _check(max_records, max_bytes)
    return UntilWindowCloses(windows, max_records, max_bytes)


@checks_options
def until_time_limit(
    limit: timedelta,
    *,
    max_records: int | None = None,
    max_bytes: int | None = None,
    full: Full = "emit-early",
) -> UntilTimeLimit:
    """Release the last record of a key when stream time is `limit` after its first record.

    A record that is older than stream time by at least the limit is released immediately.

    Args:
        limit: Stream time from the timestamp of the first record in the buffer until the release;
            later records of the key do not restart this time. With `forever`, records are released
            by the bounds, or at the end of a run that closes windows.
        max_records: The maximum number of records in the buffer of a task; None: no maximum,
            because the buffer is in the store, not in memory.
        max_bytes: The maximum number of bytes of stored keys and records; None: no maximum.
        full: The policy for a full buffer: `emit-early` releases the first records, `fail` raises a
            `LimitError`, which stops the app.

    Raises:
        ValueError: The limit or a bound is negative.

    Source: `org.apache.kafka.streams.kstream.Suppressed#untilTimeLimit`.
    """
    _check(max_records, max_bytes)
    return UntilTimeLimit(span_ms("limit", limit), max_records, full, max_bytes)


def _check(max_records: int | None, max_bytes: int | None) -> None:
    for name, bound in (("max_records", max_records), ("max_bytes", max_bytes)):
        if bound is not None and bound < 0:
            raise ValueError(f"{name} is {bound}, expected 0 or more")
