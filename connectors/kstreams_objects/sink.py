"""A sink that writes one file per task and batch, visible after the commit."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar

from typing_extensions import override

from kstreams import Record
from kstreams.sinks import CommitId, RefusedRow, Results, Sink, Writer
from kstreams_objects.formats import Columns, FileFormat
from kstreams_objects.place import Place, as_place
from kstreams_objects.staged import StagedFiles, Stager, checked_path, storage_errors
from kstreams_rows.encoding import made
from kstreams_rows.refusing import Refusals, refused
from kstreams_rows.staging import lane_name

__all__ = ("Objects",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""


@dataclass(frozen=True, repr=False)
class Objects(StagedFiles, Sink[K, V]):
    """Writes a task's results of a batch as one file, exactly once.

    The file is staged below `_staged/` while the batch runs, and renamed when the batch is
    committed: readers only see complete files of committed batches. Its name is
    `<lane>-<batch>.<extension>`, where the lane identifies epoch, sink and task: files of a task
    sort by time, and files of another task, sink or epoch (after a reset, a rescale, a fork) have
    other names. Files are built in memory.

    Results that the format cannot represent are rejected individually, before any write.

    Args:
        place: A directory's path, which driver and workers share, or `kstreams_s3.S3(...)`.
        format: `JsonLines()`, `CsvTable(...)` or `Parquet(...)`.
        row: Builds the columns of a row from key and value; None skips the result.
        folder: Builds the folder of a row's file from key and value, such as `day=2026-01-31`; each
            folder gets a separate file. Segments are separated by `/`; none may be empty or begin
            with `.` or `_`.

    Raises:
        TypeError: `place` is neither a path nor the settings of a storage.
        ValueError: The path is a URL, or empty.
    """

    place: str | os.PathLike[str] | Place
    _: KW_ONLY
    format: FileFormat
    row: Callable[[K, V], Columns | None]
    folder: Callable[[K, V], str] | None = None

    def __post_init__(self) -> None:
        as_place(self.place)

    def __repr__(self) -> str:
        """Return a text without the functions, and no secret."""
        return f"Objects({as_place(self.place).place!r}, format={self.format!r})"

    @override
    def open(self) -> Writer[K, V]:
        with storage_errors():
            return _ObjectsWriter(self)


class _ObjectsWriter(Writer[K, V]):
    """A `Writer` that stages files."""

    def __init__(self, sink: Objects[K, V]) -> None:
        self._sink = sink
        self._stager = Stager(sink.store)

    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        """Stage a batch's results; return receipts with the names of the staged files."""
        records = results.records()
        found, wrong = made(records, self._row)
        files: dict[str, bytes] = {}
        for folder, rows in _by_folder(found).items():
            encoded = self._sink.format.encode([columns for _, columns in rows])
            if encoded.data is not None:
                files[folder] = encoded.data
            wrong += _refused(records, rows, encoded.refused)
        Refusals(results, "the storage").reject(sorted(wrong, key=lambda each: each.row))
        name = f"{lane_name(commit)}-{commit.batch:012d}{self._sink.format.extension}"
        with storage_errors():
            return [
                self._stager.stage(commit, f"{folder}/{name}" if folder else name, data)
                for folder, data in files.items()
            ]

    def close(self) -> None:
        """Do nothing, because the writer holds no resources."""

    def _row(self, record: Record[Any, Any]) -> tuple[str, Columns] | None:
        columns: object = self._sink.row(record.key, record.value)
        if columns is None:
            return None
        if not isinstance(columns, Mapping):
            raise TypeError(
                f"row= returned a {type(columns).__name__}; expected a mapping of columns, or None"
            )
        where = self._sink.folder
        return (
            "" if where is None else checked_path(where(record.key, record.value), "folder"),
            columns,
        )


def _by_folder(
    found: Sequence[tuple[int, tuple[str, Columns]]],
) -> dict[str, list[tuple[int, Columns]]]:
    """Return the rows of each folder with their numbers, in order."""
    files: dict[str, list[tuple[int, Columns]]] = {}
    for number, (folder, columns) in found:
        files.setdefault(folder, []).append((number, columns))
    return files


def _refused(
    records: Sequence[Record[Any, Any]],
    rows: Sequence[tuple[int, Columns]],
    reasons: Mapping[int, str],
) -> list[RefusedRow]:
    """Return the rows that the file format rejected."""
    found: list[RefusedRow] = []
    for place, reason in reasons.items():
        number, columns = rows[place]
        found.append(refused(number, records[number], reason, value=dict(columns)))
    return found
