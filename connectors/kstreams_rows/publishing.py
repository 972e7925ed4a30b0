"""Adds the files of a batch to a table once, even if the batch is repeated or late."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from kstreams.sinks import CommitId
from kstreams_rows.fence import lane_of
from kstreams_rows.staging import Files, Receipt, Staging

__all__ = ("TableLog", "publish_once")

T = TypeVar("T")
"""A table of the library that writes it."""

_LOG = logging.getLogger(__name__.replace("_", ".", 1))


class TableLog(ABC, Generic[T]):
    """A table's log, open from batch to batch.

    Args:
        open: Opens the table.
        newest: Returns the newest version of an open one.
        check: Sees that it is still as the sink needs it.
    """

    def __init__(
        self,
        open: Callable[[], T],  # noqa: A002  # named for its effect
        newest: Callable[[T], T],
        check: Callable[[T], None],
    ) -> None:
        self._open = open
        self._newest = newest
        self._check = check
        self._table: T | None = None

    @property
    def opened(self) -> bool:
        """Return whether the table is open."""
        return self._table is not None

    @property
    def table(self) -> T:
        """The table as it was looked at."""
        return self.look() if self._table is None else self._table

    def look(self) -> T:
        """Look at the table's newest version."""
        self._table = self._open() if self._table is None else self._newest(self._table)
        self._check(self._table)
        return self._table

    def forget(self) -> None:
        """Open the table again the next time."""
        self._table = None

    @property
    @abstractmethod
    def files(self) -> Files:
        """The storage of the table's files."""

    @abstractmethod
    def published(self, lane: str) -> int | None:
        """Return the number of the batch that the table has of a task; None before the first."""

    @abstractmethod
    def append(self, entries: Mapping[str, Sequence[str]], batches: Mapping[str, int]) -> None:
        """Make a version with more files of some tasks, which says which batch it has of each.

        Refuses, by an error that passes, where somebody has said other batches of these tasks
        since this version was looked at.
        """


def publish_once(
    log: TableLog[Any], receipts: Mapping[CommitId, Sequence[str]], *, after_a_pause: bool
) -> None:
    """Add the files that tasks have staged in a batch to a table, in one version of it.

    Args:
        log: The table's log; after an error it must be reopened.
        receipts: The receipts of each task's writer.
        after_a_pause: Whether the files may have been staged long ago, so a clean-up of the table
            may have deleted them.

    Raises:
        SinkError: Staged files were deleted.
    """
    found = {commit: [Receipt.of(text) for text in texts] for commit, texts in receipts.items()}
    log.look()
    staging = Staging(log.files)
    entries: dict[str, list[str]] = {}
    batches: dict[str, int] = {}
    for commit in sorted(found, key=lambda each: (each.task, each.order)):
        lane = lane_of(commit)
        before = log.published(lane)
        if before is None or before < commit.batch:
            if after_a_pause:
                staging.check(found[commit])
            entries[lane] = [entry for receipt in found[commit] for entry in receipt.entries]
            batches[lane] = commit.batch
        elif before > commit.batch:
            _LOG.warning("what is older than the table's own is not published: %s", commit)
    if batches:
        log.append(entries, batches)
    staging.forget(receipt for staged in found.values() for receipt in staged)
