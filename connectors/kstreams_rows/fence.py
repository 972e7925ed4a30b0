"""Writes rows exactly once to a store that can write rows and move a fence atomically."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from kstreams.errors import SinkError
from kstreams.sinks import CommitId

__all__ = ("FencedPlace", "Position", "lane_of", "write_once")

R = TypeVar("R")
"""The type of a row in the form of the store."""
R_contra = TypeVar("R_contra", contravariant=True)
"""The type of a row of a `FencedPlace`."""

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_FIELDS = 4


@dataclass(frozen=True)
class Position:
    """The position of a fence: the number of a task's rows that are written.

    Attributes:
        batch: The last batch that was written, completely or partly.
        revision: The revision of its plan.
        rows: The number of its rows that are written, in order.
        fingerprint: The fingerprint of the topology that produced them.
    """

    batch: int
    revision: int
    rows: int
    fingerprint: str = ""

    @property
    def order(self) -> tuple[int, int]:
        """The sort key: a later commit has a larger one."""
        return self.batch, self.revision

    def __str__(self) -> str:
        """Return the text to store; equal positions have equal texts."""
        return f"{self.batch}:{self.revision}:{self.rows}:{self.fingerprint}"

    @classmethod
    def of(cls, text: str) -> Position:
        """Parse a stored position.

        Raises:
            SinkError: The text was not written by the library.
        """
        parts = text.split(":", _FIELDS - 1)
        try:
            batch, revision, rows = map(int, parts[:3])
            return cls(batch, revision, rows, parts[3])
        except (ValueError, IndexError):
            raise SinkError(
                f"the stored position of a task is invalid: {text[:80]!r}",
                hint="only the sink may write its positions: no other program may use their keys.",
            ) from None


class FencedPlace(Protocol[R_contra]):
    """Storage that writes rows and moves its fence atomically, if the fence is unchanged."""

    def position(self, lane: str) -> Position | None:
        """Return the position of a task's fence; None before its first row.

        Args:
            lane: The id of epoch, sink and task; see `lane_of`.
        """
        ...

    def fitting(self, rows: Sequence[R_contra], start: int) -> int:
        """Return the index after the last row that fits into a transaction from `start` on."""
        ...

    def apply(
        self, lane: str, rows: Sequence[R_contra], was: Position | None, now: Position
    ) -> bool:
        """Write rows and move the fence to `now`, both atomically.

        Returns:
            False, without any change, if the fence is not at `was`; else True.
        """
        ...


def lane_of(commit: CommitId) -> str:
    """Return the lane of a commit: the id of its epoch, sink and task, equal for all batches."""
    return f"{commit.epoch}/{commit.sink}/{commit.task}"


def write_once(place: FencedPlace[R], commit: CommitId, rows: Sequence[R]) -> None:
    """Write the rows of a commit that are not written yet; an old commit writes nothing.

    Several attempts may run at the same time: each row is written by one of them. An attempt that
    restarts after a lost response continues after the last written row.

    Args:
        place: The store to write to.
        commit: The commit of the rows.
        rows: The rows, equal and in equal order for each attempt.
    """
    lane = lane_of(commit)
    at = place.position(lane)
    told = False
    while True:
        if at is not None and at.order > commit.order:
            _LOG.warning("commit %s is older than the fence and is not written", commit)
            return
        start = at.rows if at is not None and at.order == commit.order else 0
        if start and at is not None and at.fingerprint != commit.fingerprint and not told:
            told = True
            _LOG.warning(
                "%s rows of commit %s were written by another topology (%s, this one is %s), and "
                "stay as they are",
                start,
                commit,
                at.fingerprint,
                commit.fingerprint,
            )
        if start >= len(rows):
            return
        stop = place.fitting(rows, start)
        now = Position(*commit.order, stop, commit.fingerprint)
        at = now if place.apply(lane, rows[start:stop], at, now) else place.position(lane)
