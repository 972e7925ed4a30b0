"""The settings and the progress of a view of a topic."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kstreams.clock import Clock
from kstreams.state.backend.working import StateBackend

__all__ = ("PartitionProgress", "TopicSettings")


@dataclass(frozen=True)
class TopicSettings:
    """The settings of a view of a topic; `TopicView` documents them."""

    max_age_ms: int
    backend: StateBackend
    directory: Path | None
    valid_for_ms: int
    on_error: Literal["fail", "skip"]
    clock: Clock
    in_background: bool = False


@dataclass(frozen=True)
class PartitionProgress:
    """The progress of a view of a topic in one partition.

    Attributes:
        offset: The next offset to read.
        end: The offset after the last record, when the view last requested it.
        skipped: Number of skipped records: without a key, or not decodable.
    """

    offset: int
    end: int
    skipped: int

    @property
    def lag(self) -> int:
        """Number of offsets between `offset` and `end`."""
        return max(0, self.end - self.offset)
