"""Telemetry files of an app, in a folder of its checkpoint directory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from kstreams.files import read_at_most, write_new

__all__ = ("DirectoryTelemetry",)

_MOST_BYTES = 8 * 1024 * 1024
"""The size at which a file of lines is renamed to `name.1`, in bytes."""
_DRAFT = ".draft-"
_LARGEST_READ = 64 * 1024 * 1024
_PIECE = 1024 * 1024


@dataclass(frozen=True)
class DirectoryTelemetry:
    """`TelemetryFiles` in a folder. Symbolic links instead of files are not followed.

    Lines are in two files of about 8 MB each: `name`, and `name.1` with older lines.

    Args:
        path: The folder; created by the first write.
    """

    path: Path

    @property
    def every_s(self) -> float:
        """The minimum interval of writes: 1 second, because writes are cheap."""
        return 1.0

    def replace(self, name: str, data: bytes) -> None:
        """Replace a document atomically, by renaming a temporary file."""
        target = self._made(name)
        draft = target.with_name(f"{_DRAFT}{uuid4().hex}")
        write_new(draft, data, durable=False)
        draft.replace(target)

    def append(self, name: str, lines: Sequence[bytes]) -> None:
        """Append lines in one write."""
        target = self._made(name)
        flags = os.O_CREAT | os.O_APPEND | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(target, flags, 0o666)
        try:
            size = os.fstat(handle).st_size
            cut = b"" if not size or os.pread(handle, 1, size - 1) == b"\n" else b"\n"
            rest = memoryview(cut + b"".join(line + b"\n" for line in lines))
            while rest:
                rest = rest[os.write(handle, rest) :]
            size = os.fstat(handle).st_size
        finally:
            os.close(handle)
        if size > _MOST_BYTES:
            target.replace(_older(target))

    def read(self, name: str) -> bytes | None:
        """Return a document, at most its last 64 MiB; None if it does not exist."""
        return _tail(self.path / name, _LARGEST_READ)

    def lines(self, name: str, most: int) -> list[bytes]:
        """Return the last `most` lines, also of the older file if needed."""
        found: list[bytes] = []
        for path in (self.path / name, _older(self.path / name)):
            if len(found) < most:
                found = [*_last_lines(path, most - len(found)), *found]
        return found

    def _made(self, name: str) -> Path:
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return target


def _older(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")


def _last_lines(path: Path, most: int) -> list[bytes]:
    size = _PIECE
    while True:
        data = _tail(path, size)
        if data is None:
            return []
        lines = data.split(b"\n")
        whole = len(data) < size  # all of the file
        found = [line for line in (lines if whole else lines[1:]) if line]
        if whole or len(found) >= most:
            return found[-most:]
        size *= 4


def _tail(path: Path, most: int) -> bytes | None:
    """Return the last `most` bytes of a file, or fewer; None if the file does not exist."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(handle, "rb") as file:
        size = os.fstat(handle).st_size
        file.seek(max(size - most, 0))
        return read_at_most(file, most)
