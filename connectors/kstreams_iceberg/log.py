"""The log of an Iceberg table, as the committer uses it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from typing_extensions import override

from kstreams.errors import SinkError
from kstreams_iceberg.files import files_of
from kstreams_iceberg.sdk import Table, manifest
from kstreams_iceberg.storage import IcebergFiles
from kstreams_rows.publishing import TableLog

__all__ = ("IcebergLog",)

_NO_RETRIES = {"commit.retry.num-retries": "0"}
_MERGES = "commit.manifest-merge.enabled"


class IcebergLog(TableLog[Table]):
    """A table's log.

    The table's properties `kstreams.<epoch>/<sink>` have the last batch number of each task; they
    stay when snapshots expire. The summary of a snapshot has the numbers too, for people.

    Args:
        open: Opens the table.
        check: Checks that the table still matches the sink.
    """

    def __init__(
        self,
        open: Callable[[], Table],  # noqa: A002  # named for its effect
        check: Callable[[Table], None],
    ) -> None:
        super().__init__(open, Table.refresh, check)

    @property
    @override
    def files(self) -> IcebergFiles:
        return IcebergFiles(self.table)

    @override
    def published(self, lane: str) -> int | None:
        sink, task = _place(lane)
        return self._batches(sink).get(task)

    def append(self, entries: Mapping[str, Sequence[str]], batches: Mapping[str, int]) -> None:
        """Add a snapshot to the table with new files, and with the batch number of each task.

        Files with an older partition spec of the table are added by a separate snapshot.

        Args:
            entries: For each task, its new files as texts, which `files_of` parses.
            batches: The batch number to store for each task.
        """
        by_spec: dict[int, dict[str, list[manifest.DataFile]]] = {}
        for lane, of_task in entries.items():
            for entry in of_task:
                spec, files = files_of(entry)
                by_spec.setdefault(spec, {}).setdefault(lane, []).extend(files)
        for spec, found in by_spec.items():
            self._append(spec, found, {lane: batches[lane] for lane in found})

    def _append(
        self,
        spec: int,
        files: Mapping[str, Sequence[manifest.DataFile]],
        batches: Mapping[str, int],
    ) -> None:
        table = self.table
        said: dict[str, dict[str, int]] = {}
        for lane, batch in batches.items():
            sink, task = _place(lane)
            said.setdefault(sink, self._batches(sink))[task] = batch
        said_as = {sink: json.dumps(tasks) for sink, tasks in said.items()}
        transaction = _alone(table, spec).transaction()
        transaction.set_properties(said_as)
        update = transaction.update_snapshot(snapshot_properties=said_as)
        merges = table.properties.get(_MERGES, "false").lower() == "true"
        with update.merge_append() if merges else update.fast_append() as append:
            for of_task in files.values():
                for file in of_task:
                    append.append_data_file(file)
        self._table = transaction.commit_transaction()

    def _batches(self, sink: str) -> dict[str, int]:
        """Return the last batch numbers of a sink's tasks, by task."""
        text = self.table.properties.get(sink, "{}")
        try:
            found = json.loads(text)
            return {str(task): int(batch) for task, batch in found.items()}
        except (ValueError, TypeError, AttributeError):
            raise SinkError(
                f"the table's property {sink!r} must map tasks to batch numbers, but is "
                f"{text[:80]!r}",
                hint="restore the property from the summary of an earlier snapshot; only the "
                "library may write it.",
            ) from None


def _alone(table: Table, spec: int) -> Table:
    """Return a copy of the table for one commit attempt of files with one partition spec.

    By itself pyiceberg retries on a newer, unchecked version of the table and partitions by the
    newest spec; the copy's settings disable both. The settings are not written to the table.
    """
    if all(each.spec_id != spec for each in table.metadata.partition_specs):
        raise SinkError(
            f"the files of the batch have partition spec {spec}, which the table does not have",
            hint="the table was replaced by another one: reset the app.",
        )
    properties = {**table.metadata.properties, **_NO_RETRIES}
    metadata = table.metadata.model_copy(update={"properties": properties, "default_spec_id": spec})
    return Table(table.name(), metadata, table.metadata_location, table.io, table.catalog)


def _place(lane: str) -> tuple[str, str]:
    """Split a lane, `<epoch>/<sink>/<task>`, into the name of a table property and the task.

    The property stores the last batch number of each task of the sink.
    """
    sink, _, task = lane.rpartition("/")
    return f"kstreams.{sink}", task
