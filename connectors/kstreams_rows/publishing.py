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
"""The type of a table in the library that writes it."""

_LOG = logging.getLogger(__name__.replace("_", ".", 1))


class TableLog(ABC, Generic[T]):
    """The log of a table, which lists its versions and files; it stays open between batches.

    Args:
        open: Opens the table.
        newest: Returns the newest version of an open table.
        check: Checks that the table still matches the sink.
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
        """The table at the last `look`, which is called at the first use."""
        return self.look() if self._table is None else self._table

    def look(self) -> T:
        """Load and check the newest version of the table; return the table."""
        self._table = self._open() if self._table is None else self._newest(self._table)
        self._check(self._table)
        return self._table

    def forget(self) -> None:
        """Drop the open table, so that the next `look` opens it again."""
        self._table = None

    @property
    @abstractmethod
    def files(self) -> Files:
        """The storage of the table's files."""

    @abstractmethod
    def published(self, lane: str) -> int | None:
        """Return the last batch number of a task in the table; None before its first batch."""

    @abstractmethod
    def append(self, entries: Mapping[str, Sequence[str]], batches: Mapping[str, int]) -> None:
        """Add a version to the table with new files, and with the batch number of each task.

        Raises a temporary error if another writer has changed the batch number of one of these
        tasks since the last `look`.

        Args:
            entries: For each task, its new files as texts in the format of the table's log.
            batches: The batch number to store for each task.
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
            _LOG.warning("commit %s is older than the table's last and is not published", commit)
    if batches:
        log.append(entries, batches)
    staging.forget(receipt for staged in found.values() for receipt in staged)
