"""Index entries: the permanent offsets and positions of a file's records."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kstreams.errors import StateCorruptError
from kstreams.names import shown_name
from kstreams.state.log.fields import checked_integer, checked_text
from kstreams_files.files import FileInfo
from kstreams_files.format import Mark

__all__ = ("Entry", "Place")


@dataclass(frozen=True)
class Entry:
    """The entry of a file in an index.

    Attributes:
        file: The scanned version of the file.
        partition: The partition of the file's records.
        first: The offset of the file's first record.
        records: The number of the file's records; 1 if the file cannot be read.
        marks: The positions of some records, including the first.
        end: The position of the file's end, in the units of the format.
        head: The result of `Format.head`, such as the header row of a CSV file.
        problem: The reason if the file cannot be read; otherwise empty.
    """

    file: FileInfo
    partition: int
    first: int
    records: int
    marks: tuple[Mark, ...]
    end: int
    head: str = ""
    problem: str = ""

    @property
    def stop(self) -> int:
        """The offset after the file's last record."""
        return self.first + self.records

    def place(self, offset: int) -> Place:
        """Return the location at which a reader starts to find a record."""
        record = offset - self.first
        number = bisect_right(self.marks, record, key=lambda mark: mark.record)
        mark = self.marks[number - 1] if number else Mark(0, 0)
        return Place(self.file, self.first, mark, self.head, self.problem)

    def to_json(self) -> list[Any]:
        """Return the entry as JSON data."""
        file = [self.file.name, self.file.version, self.file.size, self.file.modified_ms]
        marks = [[mark.record, mark.place] for mark in self.marks]
        own = [self.partition, self.first, self.records, marks, self.end]
        return [file, own, self.head, self.problem]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Entry:
        """Parse the result of `to_json`; a `ValueError` has the problem."""
        file, (partition, first, records, marks, end), head, problem = data
        return cls(
            _file(file),
            checked_integer(partition, "the partition of a file"),
            checked_integer(first, "the first offset of a file"),
            checked_integer(records, "the records of a file"),
            tuple(_mark(mark) for mark in marks),
            checked_integer(end, "the end of a file"),
            checked_text(head, "the head of a file"),
            checked_text(problem, "the problem of a file"),
        )


@dataclass(frozen=True)
class Place:
    """The location of records in a file; its text is part of plans.

    Attributes:
        file: The version of the file.
        first: The offset of the file's first record.
        mark: The position to start reading at.
        head: The result of `Format.head`, such as the header row of a CSV file.
        problem: The reason if the file cannot be read; otherwise empty.
    """

    file: FileInfo
    first: int
    mark: Mark
    head: str = ""
    problem: str = ""

    def __str__(self) -> str:
        """Return the location as JSON text, for plans."""
        file = [self.file.name, self.file.version, self.file.size, self.file.modified_ms]
        mark = [self.mark.record, self.mark.place]
        return json.dumps([file, self.first, mark, self.head, self.problem], separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Place:
        """Parse the text that `str` returns.

        Raises:
            StateCorruptError: The text is not a location.
        """
        try:
            file, first, mark, head, problem = json.loads(text)
            return cls(
                _file(file),
                checked_integer(first, "the first offset of a file"),
                _mark(mark),
                checked_text(head, "the head of a file"),
                checked_text(problem, "the problem of a file"),
            )
        except (ValueError, TypeError, KeyError) as exc:
            raise StateCorruptError(
                f"a plan has the invalid position {shown_name(text)}, expected a position in a file"
            ) from exc


def _file(data: Sequence[Any]) -> FileInfo:
    name, version, size, modified = data
    if type(modified) is not int:  # may be before the epoch
        raise ValueError(f"the modification time of a file is {modified!r}, expected an integer")
    return FileInfo(
        checked_text(name, "the name of a file"),
        checked_text(version, "the version of a file"),
        checked_integer(size, "the size of a file"),
        modified,
    )


def _mark(data: Sequence[Any]) -> Mark:
    record, place = data
    return Mark(checked_integer(record, "a record"), checked_integer(place, "its place"))
