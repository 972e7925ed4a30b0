"""The values of the output for late records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from kstreams._types import V

__all__ = ("Late",)


@dataclass(frozen=True)
class Late(Generic[V]):
    """A value that a closed window rejected; `split_late` returns a stream of such values.

    Args:
        value: The rejected value.
        start_ms: The start of the window, ms since the epoch.
        end_ms: The end of the window, ms since the epoch.
        stream_time_ms: The stream time when the record arrived, or the later time as of which a run
            closed windows early.
        lateness_ms: The time between the close of the window and `stream_time_ms`.
    """

    value: V
    start_ms: int
    end_ms: int
    stream_time_ms: int
    lateness_ms: int
