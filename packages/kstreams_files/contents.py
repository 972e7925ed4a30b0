"""The driver's side of a file log: find new files, scan them, and plan their records."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any

from kstreams.errors import DeserializationError, FileChangedError
from kstreams.log import Piece
from kstreams.quoting import safe_text
from kstreams_files.files import FileInfo, Files
from kstreams_files.finished import Finishing
from kstreams_files.format import Format, Mark
from kstreams_files.index import FileIndex, Scanned

__all__ = ("FileContents",)

_LOG = logging.getLogger(__name__.replace("_", ".", 1))

_MARK_BYTES = 4 * 1024 * 1024
"""The minimum distance between two stored positions (`Mark`) of a file, in bytes."""
_ENTRIES, _SCANNED_BYTES = 1_000, 256 * 1024 * 1024
"""After this many scanned files or bytes, the offsets are stored before more files are scanned."""
_MAX_PROBLEM_CHARS = 1_000


class FileContents:
    """The offsets and plans of a file log, on the driver.

    Implements `kstreams.log.LogContents` and `ReadOnce`.

    Args:
        files: The files.
        form: The format of the files.
        index: The offsets of files.
        look_every_s: The interval between searches for files, in seconds.
        finishing: Deletes, moves or keeps files after the commit of their records.
    """

    def __init__(
        self,
        files: Files,
        form: Format[Any, Any],
        index: FileIndex,
        look_every_s: float,
        finishing: Finishing,
    ) -> None:
        self._finishing = finishing
        self._look_every_s = look_every_s
        self._files = files
        self._form = form
        self._index = index
        self._present: dict[str, FileInfo] | None = None

    @property
    def log_id(self) -> str:
        """The id of the file index."""
        return self._index.log_id

    @property
    def look_every_s(self) -> float:
        """The interval between searches for files, in seconds."""
        return self._look_every_s

    def beginnings(self) -> dict[int, int]:
        """Return the first offset of the first file that still exists, by partition."""
        if self._present is None:
            self.ends()
        index = self._index
        return {partition: self._beginning(partition) for partition in range(index.partitions)}

    def _beginning(self, partition: int) -> int:
        present = self._present or {}
        for entry in self._index.since(partition, 0):
            if entry.file.name in present:
                return entry.first
        return self._index.end(partition)

    def ends(self) -> dict[int, int]:
        """Search for new files, and return the offset after the last record, by partition.

        Raises:
            FileChangedError: A file has changed since it was found.
        """
        found = list(self._files.list())
        self._present = {file.name: file for file in found}
        for some in self._portions(self._new(found)):
            left = some
            while left and not self._index.add(left):
                left = [each for each in left if self._is_new(each.file)]
        return {
            partition: self._index.end(partition) for partition in range(self._index.partitions)
        }

    def _new(self, found: Iterable[FileInfo]) -> list[FileInfo]:
        """Return files that have no offsets, the oldest first."""
        new = [file for file in found if self._is_new(file)]
        return sorted(new, key=lambda file: (file.modified_ms, file.name))

    def _is_new(self, file: FileInfo) -> bool:
        entry = self._index.known.get(file.name)
        if entry is not None and entry.file.version != file.version:
            raise FileChangedError(
                f"file {file.name!r} of {self._files.label} has changed since its records were "
                f"planned: the version was {entry.file.version}, and is {file.version} now",
                hint="restore the file, or remove the file if all its records were read; write new "
                "content to a new file. Add only complete files: write each file under a name that "
                "ends with '.part', then rename it.",
            )
        return entry is None

    def _portions(self, new: Iterable[FileInfo]) -> Iterator[list[Scanned]]:
        """Scan files, and yield groups of scanned files to add to the index together."""
        some: list[Scanned] = []
        size = 0
        for file in new:
            scanned = self._scanned(file)
            if scanned is not None:
                some.append(scanned)
                size += max(file.size, scanned.end)
            if len(some) == _ENTRIES or size > _SCANNED_BYTES:
                yield some
                some, size = [], 0
        if some:
            yield some

    def _scanned(self, file: FileInfo) -> Scanned | None:
        """Scan a file; return None if it changes meanwhile, so that a later search scans it."""
        try:
            with closing(self._files.open(file)) as data:
                try:
                    head = self._form.head(data)
                    marks, end = _kept(self._form.scan(data))
                except DeserializationError as exc:
                    data.check()
                    problem = safe_text(exc.message, _MAX_PROBLEM_CHARS)
                    _LOG.warning("file %r cannot be read: %s", file.name, problem)
                    return Scanned(file, 1, (), file.size, problem=_with_hint(problem, exc.hint))
                data.check()
        except FileChangedError as exc:
            _LOG.info("file %r is left for later: %s", file.name, exc.message)
            return None
        return Scanned(file, end.record, marks, end.place, head)

    def first_since(self, partition: int, timestamp_ms: int) -> tuple[int, int] | None:
        """Return offset and time (ms) of the first record at or after a time; None without one."""
        return self._index.first_since(partition, timestamp_ms)

    def pieces(self, partition: int, start: int, stop: int) -> Iterator[Piece]:
        """Yield one `Piece` for each file with records in the offset range."""
        for entry in self._index.since(partition, start):
            low = max(entry.first, start)
            if low >= stop:
                return
            yield Piece(partition, low, min(entry.stop, stop), str(entry.place(low)))

    def mean_bytes(self, partition: int, offset: int) -> float | None:
        """Return the mean record size of the file that has an offset; None if no file has it."""
        for entry in self._index.since(partition, offset)[:1]:
            return max(entry.end, entry.file.size) / entry.records
        return None

    def claim(self, reader: str) -> None:
        """Do nothing: another reader cannot be detected."""

    def committed(self, positions: Mapping[int, int]) -> None:
        """Remove the files whose records are all before the positions.

        Files without records are removed with the files before them; unreadable files stay. A crash
        leaves some files, which the next commit or start removes.

        Raises:
            SourceError: A file cannot be removed.
            SourceUnavailableError: The source does not answer.
        """
        if self._finishing.leaves:
            return
        if self._present is None:
            self.ends()
        present = self._present or {}
        for name in sorted(present):
            entry = self._index.known.get(name)
            if entry is None or entry.problem:
                continue
            if entry.stop <= positions.get(entry.partition, 0):
                self._finishing.take_away(entry.file)
                del present[name]

    def close(self) -> None:
        """Do nothing: no file stays open."""


def _kept(marks: Iterable[Mark]) -> tuple[tuple[Mark, ...], Mark]:
    """Return the positions to store in the index, and the position of the file's end."""
    kept: list[Mark] = []
    last = Mark(0, 0)
    for mark in marks:
        if not kept or mark.place - kept[-1].place >= _MARK_BYTES:
            kept.append(mark)
        last = mark
    return tuple(kept), last


def _with_hint(problem: str, hint: str) -> str:
    return f"{problem}\nHint: {hint}" if hint else problem
