"""Data files of an Iceberg table and their log entries."""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Sequence

import pyarrow as pa

from kstreams.errors import SinkError
from kstreams_iceberg.memory import MemoryIO
from kstreams_iceberg.sdk import Table, TableMetadata, data_files_of, manifest
from kstreams_iceberg.storage import IcebergFiles
from kstreams_rows.columnar import Columns
from kstreams_rows.staging import Attempt
from kstreams_rows.table_writer import DataFiles

__all__ = ("IcebergFormat", "files_of")

_HERE = "manifest"


class IcebergFormat:
    """The format of an Iceberg table's data files, as a worker uses it.

    Args:
        table: The table.
    """

    place = "Iceberg"

    def __init__(self, table: Table) -> None:
        self.schema = table.schema().as_arrow()
        self.files = IcebergFiles(table)
        self._metadata = table.metadata

    def check(self, row: Columns) -> None:
        """Do nothing, because all rows that match the columns are valid."""

    def data_files(self, rows: pa.Table, attempt: Attempt) -> DataFiles:
        """Return one file per partition with its rows, by the table's current partition spec."""
        memory = MemoryIO()
        found = list(data_files_of(self._metadata, rows, memory, uuid.UUID(attempt.id)))
        return DataFiles(memory.data, (_entry(self._metadata, found),))


def _entry(metadata: TableMetadata, files: Sequence[manifest.DataFile]) -> str:
    """Return data files as text: the encoded bytes of an Iceberg manifest."""
    memory = MemoryIO()
    spec, schema = metadata.spec(), metadata.schema()
    version = metadata.format_version
    output = memory.new_output(_HERE)
    with manifest.write_manifest(version, spec, schema, output, 0, "deflate") as writer:
        for file in files:
            writer.add(
                manifest.ManifestEntry.from_args(
                    status=manifest.ManifestEntryStatus.ADDED,
                    snapshot_id=0,
                    sequence_number=None,
                    file_sequence_number=None,
                    data_file=file,
                )
            )
    text = base64.b64encode(memory.data[_HERE]).decode()
    return f"{spec.spec_id}:{text}"


def files_of(entry: str) -> tuple[int, list[manifest.DataFile]]:
    """Parse the text that `_entry` returned.

    Returns:
        The id of the partition spec of the data files, and the files.

    Raises:
        SinkError: The text was not written by this sink.
    """
    spec, _, text = entry.partition(":")
    try:
        data = base64.b64decode(text, validate=True)
        memory = MemoryIO({_HERE: data})
        own = manifest.ManifestFile.from_args(
            manifest_path=_HERE,
            manifest_length=len(data),
            partition_spec_id=int(spec),
            content=manifest.ManifestContent.DATA,
            sequence_number=0,
            added_snapshot_id=0,
        )
        return int(spec), [each.data_file for each in own.fetch_manifest_entry(memory)]
    except (ValueError, TypeError, binascii.Error, EOFError, KeyError):
        raise SinkError(
            f"the checkpoint has {entry[:80]!r} where Iceberg data files were expected",
            hint="a different sink with this node name wrote the checkpoint: rename this node.",
        ) from None
