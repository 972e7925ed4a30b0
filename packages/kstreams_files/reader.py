"""Read the records of files in a worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams.errors import DeserializationError, FileChangedError, Where
from kstreams.log import Piece
from kstreams.raw_batch import HEADERS_TYPE, ORIGIN, UNREADABLE
from kstreams_files.entry import Place
from kstreams_files.files import FileData, Files
from kstreams_files.format import Format, Rows

__all__ = ("FileReader",)


class FileReader:
    """Implements `kstreams.log.LogReader`; keeps the last file of each partition open.

    Thus a file that can only be read sequentially is not read again for each batch.

    Args:
        files: The files.
        form: The format.
    """

    def __init__(self, files: Files, form: Format[Any, Any]) -> None:
        self._files = files
        self._form = form
        self._open: dict[int, _OpenFile] = {}

    def read(self, piece: Piece, *, max_bytes: int) -> pa.Table:
        """Return the records of a `Piece`; the first records only, if they exceed `max_bytes`.

        Raises:
            FileChangedError: The file was deleted or has changed.
            SourceError: The file cannot be read.
        """
        place = Place.parse(piece.place)
        if place.problem:
            nothing = pa.nulls(1, pa.binary())
            rows = [Rows(nothing, wrong={0: f"the file cannot be read: {place.problem}"})]
            return _table(rows, piece.start, place)
        file = self._open.pop(piece.partition, None)
        if file is None or not file.is_next(place, piece.start - place.first):
            if file is not None:
                file.close()
            file = _OpenFile(self._files.open(place.file), place, self._form)
        try:
            rows, whole = file.take(piece.start - place.first, piece.stop - place.first, max_bytes)
        except BaseException:
            file.close()
            raise
        if whole and file.left:
            self._open[piece.partition] = file
        else:
            file.close()
        return _table(rows, piece.start, place)

    def close(self) -> None:
        """Close the files."""
        while self._open:
            self._open.popitem()[1].close()


class _OpenFile:
    """An open file that is read from a position (`Mark`) to its end, over several calls.

    Attributes:
        left: Whether the file may have more records.
    """

    def __init__(self, data: FileData, place: Place, form: Format[Any, Any]) -> None:
        self._data = data
        self._place = place
        self._parts: Iterator[Rows] = form.read(data, place.head, place.mark)
        self._next = place.mark.record
        self._waiting: Rows | None = None
        self.left = True

    def is_next(self, place: Place, record: int) -> bool:
        """Return whether the next unread record is number `record` of the file at `place`."""
        own = self._place
        return (own.file, own.first) == (place.file, place.first) and record == self._next

    def take(self, start: int, stop: int, max_bytes: int) -> tuple[list[Rows], bool]:
        """Return the records from `start` to before `stop`, and whether all of them fit the limit.

        Raises:
            FileChangedError: The file has changed, or does not have the records any more.
        """
        found: list[Rows] = []
        size = 0
        while self._next < stop and size <= max_bytes:
            rows = self._following()
            count = len(rows.values)
            skipped = min(max(start - self._next, 0), count)
            taken = min(count, stop - self._next)
            if taken > skipped:
                found.append(_part(rows, skipped, taken))
                size += found[-1].values.nbytes
            self._next += taken
            self._waiting = _part(rows, taken, count) if taken < count else None
        self._data.check()
        return found, self._next >= stop

    def _following(self) -> Rows:
        if self._waiting is not None:
            return self._waiting
        try:
            rows = next(self._parts, None)
        except DeserializationError as exc:
            raise self._changed(exc.message) from exc
        if rows is None:
            self._data.check()
            raise self._changed("the file ends before the last planned record")
        return rows

    def _changed(self, why: str) -> FileChangedError:
        return FileChangedError(
            f"file {self._place.file.name!r} has changed since its records were planned: {why}",
            hint="restore the original file, or reset the app.",
            where=Where(file=self._place.file.name, record=self._next + 1),
        )

    def close(self) -> None:
        """Close the file."""
        self.left = False
        self._data.close()


def _part(rows: Rows, start: int, stop: int) -> Rows:
    """Return the rows from `start` to before `stop`."""
    return Rows(
        rows.values.slice(start, stop - start),
        None if rows.keys is None else rows.keys.slice(start, stop - start),
        {row - start: why for row, why in rows.wrong.items() if start <= row < stop},
        None if rows.headers is None else rows.headers.slice(start, stop - start),
    )


def _table(found: list[Rows], start: int, place: Place) -> pa.Table:
    """Return consecutive rows as a table with the columns of `LogReader.read`.

    Args:
        found: The rows.
        start: The offset of the first row.
        place: The location of the file's records.
    """
    values = pa.chunked_array([rows.values for rows in found], pa.binary())
    keys = [pa.nulls(len(r.values), pa.binary()) if r.keys is None else r.keys for r in found]
    headers = [
        pa.nulls(len(r.values), HEADERS_TYPE) if r.headers is None else r.headers for r in found
    ]
    count = len(values)
    offsets = np.arange(start, start + count, dtype=np.int64)
    name = place.file.name.encode(errors="backslashreplace").decode()
    origin = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(count, np.int32)), pa.array([f"{place.first}:{name}"])
    )
    columns = {
        "offset": pa.array(offsets),
        "timestamp": pa.array(np.full(count, place.file.modified_ms, np.int64)),
        "key": pa.chunked_array(keys, pa.binary()),
        "value": values,
        "headers": pa.chunked_array(headers, HEADERS_TYPE),
        ORIGIN: origin,
    }
    if any(rows.wrong for rows in found):
        said: list[str | None] = [
            rows.wrong.get(n) for rows in found for n in range(len(rows.values))
        ]
        columns[UNREADABLE] = pa.array(said, pa.string())
    return pa.table(columns)
