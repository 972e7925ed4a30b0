"""Folders of files satisfy the contract of logs, in each format."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from kstreams import TEXT
from kstreams.sources import Csv, Gzip, Lines, Log, Whole, folder
from kstreams.testing import LogContract

K = TypeVar("K")
"""Type of the keys."""
V = TypeVar("V")
"""Type of the values."""


class _OfFolder(LogContract[K, V]):
    """Each `add` is a file."""

    partitions = 1

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.place = tmp_path / "in"
        self.place.mkdir()
        self.numbers = count()

    def write(self, data: bytes) -> None:
        name = f"{next(self.numbers):03}"
        (self.place / f"{name}.part").write_bytes(data)
        (self.place / f"{name}.part").rename(self.place / name)


class TestLines(_OfFolder[None, str]):
    partitions = 2

    def make(self) -> Log[None, str]:
        return folder("lines", self.place, Lines(TEXT), partitions=self.partitions)

    def add(self, values: Sequence[str]) -> None:
        self.write("\n".join(values).encode())


class TestGzip(_OfFolder[None, str]):
    def make(self) -> Log[None, str]:
        return folder("lines", self.place, Gzip(Lines(TEXT)))

    def add(self, values: Sequence[str]) -> None:
        half = len(values) // 2
        parts = (
            "".join(f"{value}\r\n" for value in some) for some in (values[:half], values[half:])
        )
        self.write(b"".join(gzip.compress(part.encode()) for part in parts))


class TestWhole(_OfFolder[str, str]):
    def make(self) -> Log[str, str]:
        return folder("files", self.place, Whole(TEXT))

    def add(self, values: Sequence[str]) -> None:
        for value in values[:100]:
            self.write(value.encode())


@dataclass(frozen=True)
class Row:
    """A row whose only field is the contract's value."""

    text: str


class TestCsv(_OfFolder[None, Row]):
    def make(self) -> Log[None, Row]:
        return folder("rows", self.place, Csv(Row))

    def add(self, values: Sequence[str]) -> None:
        rows = "".join(f'7,"{value}"\n' for value in values)
        self.write(f"n,text\n{rows}".encode())

    def text(self, value: Row) -> str:
        return value.text
