"""Files that are read as one value each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa
from typing_extensions import override

from kstreams.errors import DeserializationError
from kstreams.raw_batch import HEADERS_TYPE
from kstreams.serde.base import Serde
from kstreams.serde.text import TEXT
from kstreams_files.files import FileData
from kstreams_files.format import Format, Mark, Rows

__all__ = ("Whole",)

V = TypeVar("V")
"""Type of the values."""

_PATH = "kstreams-file"
"""The header with the file's path, which is kept if the record's key changes."""


@dataclass(frozen=True)
class Whole(Format[str, V]):
    """The format of files that are one value each.

    The path of a file in the folder is the key, and the value of the header `kstreams-file`.

    Args:
        value: Serde of the file's bytes.
        max_bytes: The maximum bytes of a file; a larger file cannot be read.
    """

    value: Serde[V]
    max_bytes: int = 64 * 1024 * 1024
    key: Serde[str] = field(default=TEXT, init=False)
    name: str = field(default="whole", init=False)

    @override
    def scan(self, data: FileData) -> Iterator[Mark]:
        self._contents(data)
        yield Mark(0, 0)
        yield Mark(1, data.size)

    @override
    def read(self, data: FileData, head: str, mark: Mark) -> Iterator[Rows]:
        if mark.record == 0:
            key = data.name.encode(errors="surrogateescape")
            yield Rows(
                pa.array([self._contents(data)], pa.binary()),
                pa.array([key], pa.binary()),
                headers=pa.array([[{"key": _PATH, "value": key}]], HEADERS_TYPE),
            )

    def _contents(self, data: FileData) -> bytes:
        blocks: list[bytes] = []
        size = 0
        for block in data.blocks(0):
            blocks.append(block)
            size += len(block)
            if size > self.max_bytes:
                raise DeserializationError(
                    f"the content has more than {self.max_bytes:,} bytes",
                    hint="if the file is legitimate, raise max_bytes of the format.",
                )
        return b"".join(blocks)
