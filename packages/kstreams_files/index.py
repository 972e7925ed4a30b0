"""The files of a log with their order and offsets: written once, permanently.

A new file gets the next offsets of its partition, with a conditional create. So several drivers and
apps that read a folder agree on the offsets, and a restart, a fork or a reset reads the same
records as before. Objects of the index are never changed or deleted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import uuid4

from kstreams.errors import ObjectMissingError, SourceError, StoreError
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.document import read_document, seal
from kstreams.state.log.fields import Fields
from kstreams_files.entry import Entry
from kstreams_files.files import FileInfo
from kstreams_files.format import Mark

__all__ = ("FileIndex", "Scanned")

_LOG = "log.json"
_FILES = "files/"
_AT_ONCE = 8
_OTHER = (
    "give the log its original index and arguments; or give the log another name, which "
    "starts with a new index and new offsets."
)
_DAMAGED = "restore the index from a copy: only the index has the offsets of the records."


@dataclass(frozen=True)
class Scanned:
    """A scanned file without offsets; see `Entry` for the attributes."""

    file: FileInfo
    records: int
    marks: tuple[Mark, ...]
    end: int
    head: str = ""
    problem: str = ""


class FileIndex:
    """The files of a log, by partition in the order of offsets.

    Args:
        store: The storage of the index.
        place: The name of the index in error texts.
        partitions: The number of partitions of the log.
        format_name: The name of the format, which identifies the boundaries of records.

    Raises:
        SourceError: The index belongs to another log, or cannot be read or written.
    """

    def __init__(
        self, store: ObjectStore, place: str, *, partitions: int, format_name: str
    ) -> None:
        self._store = store
        self._place = place
        self._read = 0
        self._entries: list[list[Entry]] = [[] for _ in range(partitions)]
        self._firsts: list[list[int]] = [[] for _ in range(partitions)]
        self._times: list[list[int]] = [[] for _ in range(partitions)]
        self.known: dict[str, Entry] = {}
        try:
            self.log_id = self._begin(partitions, format_name)
            self.refresh()
        except StoreError as exc:
            raise self._failed(exc) from exc

    def _begin(self, partitions: int, format_name: str) -> str:
        """Return the id of the index; create the index if it does not exist.

        Args:
            partitions: The number of partitions that the index must have.
            format_name: The name of the format that the index must have.
        """
        made = {"format": 1, "id": uuid4().hex, "partitions": partitions, "records": format_name}
        try:
            data = self._store.get(_LOG)
        except ObjectMissingError:
            self._store.put_if_absent(_LOG, seal(made, _LOG).data)
            data = self._store.get(_LOG)
        found = read_document(
            data, _LOG, lambda fields, _: fields, what=f"{_LOG} of {self._place}", hint=_DAMAGED
        )
        wanted = {"format": 1, "partitions": partitions, "records": format_name}
        for name, value in wanted.items():
            if found.anything(name) != value:
                raise SourceError(
                    f"the index in {self._place} has {name} {found.anything(name)!r}, expected "
                    f"{value!r} as in the log",
                    hint=_OTHER,
                )
        return found.text("id")

    def refresh(self) -> None:
        """Read the offsets of the files that other processes have added to the index.

        Raises:
            SourceError: An object of the index is missing or damaged.
        """
        names = [name for name in self._store.list(_FILES) if name >= _name(self._read)]
        with ThreadPoolExecutor(_AT_ONCE, "kstreams-index") as pool:
            for name, data in zip(names, pool.map(self._store.get, names), strict=True):
                if name != _name(self._read):
                    raise SourceError(
                        f"{_name(self._read)} of the index in {self._place} is missing",
                        hint=_DAMAGED,
                    )
                self._take(data)

    def _take(self, data: bytes) -> None:
        name = _name(self._read)

        def parse(fields: Fields, _: str) -> list[Entry]:
            return [Entry.from_json(each) for each in fields.items("files")]

        what = f"{name} of the index in {self._place}"
        for entry in read_document(data, name, parse, what=what, hint=_DAMAGED, sealed=True):
            if entry.partition >= len(self._entries) or entry.first != self.end(entry.partition):
                raise SourceError(
                    f"{what} has offsets that do not follow the previous offsets", hint=_DAMAGED
                )
            self.known[entry.file.name] = entry
            if entry.records:
                times = self._times[entry.partition]
                self._entries[entry.partition].append(entry)
                self._firsts[entry.partition].append(entry.first)
                times.append(max(entry.file.modified_ms, times[-1] if times else -(1 << 62)))
        self._read += 1

    def add(self, found: Sequence[Scanned]) -> bool:
        """Assign offsets to files, each in the partition with the fewest records.

        Returns:
            False if another process has added files meanwhile. Those files are then known, and the
            caller may add its remaining files again.

        Raises:
            SourceError: The index cannot be written.
        """
        ends = [self.end(partition) for partition in range(len(self._entries))]
        entries: list[Entry] = []
        for each in found:
            partition = ends.index(min(ends))
            entries.append(
                Entry(
                    each.file,
                    partition,
                    ends[partition],
                    each.records,
                    each.marks,
                    each.end,
                    each.head,
                    each.problem,
                )
            )
            ends[partition] += each.records
        name = _name(self._read)
        data = seal({"files": [entry.to_json() for entry in entries]}, name).data
        try:
            if self._store.put_if_absent(name, data):
                self._take(data)
                return True
            self.refresh()
        except StoreError as exc:
            raise self._failed(exc) from exc
        return False

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return len(self._entries)

    def end(self, partition: int) -> int:
        """Return the offset after the last record of a partition."""
        entries = self._entries[partition]
        return entries[-1].stop if entries else 0

    def since(self, partition: int, offset: int) -> Sequence[Entry]:
        """Return the entries with records at or after an offset, in order."""
        first = max(bisect_right(self._firsts[partition], offset) - 1, 0)
        return [each for each in self._entries[partition][first:] if each.stop > offset]

    def first_since(self, partition: int, timestamp_ms: int) -> tuple[int, int] | None:
        """Return offset and time (ms) of the first record at or after a time; None without one."""
        place = bisect_left(self._times[partition], timestamp_ms)
        if place == len(self._entries[partition]):
            return None
        entry = self._entries[partition][place]
        return entry.first, entry.file.modified_ms

    def _failed(self, error: StoreError) -> SourceError:
        return SourceError(
            f"the index in {self._place} cannot be read or written: {error.message}",
            hint=f"give another location as index=..., such as Directory(path). {error.hint}",
        )


def _name(number: int) -> str:
    return f"{_FILES}{number:012}.json"
