"""What becomes of a record that comes too late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from kstreams._types import V

__all__ = ("Late",)


@dataclass(frozen=True)
class Late(Generic[V]):
    """A value that a closed window refused; `split_late` makes a stream of them.

    Args:
        value: The value.
        start_ms: Start of the window, ms since the epoch.
        end_ms: End of the window.
        stream_time_ms: Stream time when the record came, or as of which windows had been
            closed early, if that is later.
        lateness_ms: How long ago, by that time, the window closed.
    """

    value: V
    start_ms: int
    end_ms: int
    stream_time_ms: int
    lateness_ms: int
