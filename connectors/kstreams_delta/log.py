"""The log of a Delta table, as the committer uses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from typing_extensions import override

from kstreams_delta.files import add_action
from kstreams_delta.sdk import deltalake
from kstreams_delta.storage import DeltaFiles
from kstreams_rows.publishing import TableLog

__all__ = ("DeltaLog",)


class DeltaLog(TableLog[deltalake.DeltaTable]):
    """A table's log, whose `txn` actions store the last committed batch of each task.

    Args:
        open: Opens the table.
        check: Checks that the table still fits the sink.
        files: The storage of the table's files.
    """

    def __init__(
        self,
        open: Callable[[], deltalake.DeltaTable],  # noqa: A002  # named for its effect
        check: Callable[[deltalake.DeltaTable], None],
        files: DeltaFiles,
    ) -> None:
        super().__init__(open, _newest, check)
        self._files = files

    @property
    @override
    def files(self) -> DeltaFiles:
        return self._files

    @override
    def published(self, lane: str) -> int | None:
        return self.table.transaction_version(_app_id(lane))

    def append(self, entries: Mapping[str, Sequence[str]], batches: Mapping[str, int]) -> None:
        """Add a version to the table with new files, and with the batch number of each task.

        deltalake raises an error if another writer has changed the batch number of one of these
        tasks since the table was last loaded. It allows concurrent appends of other writers.

        Args:
            entries: For each task, the `add` actions of its new files, as JSON texts.
            batches: The batch number to store for each task.
        """
        table = self.table
        said = [deltalake.Transaction(_app_id(lane), batch) for lane, batch in batches.items()]
        table.create_write_transaction(
            [add_action(entry) for of_task in entries.values() for entry in of_task],
            "append",
            table.schema(),
            list(table.metadata().partition_columns),
            commit_properties=deltalake.CommitProperties(app_transactions=said),
        )


def _newest(table: deltalake.DeltaTable) -> deltalake.DeltaTable:
    table.update_incremental()
    return table


def _app_id(lane: str) -> str:
    return f"kstreams/{lane}"
