"""A Python file object for `FileData`."""

from __future__ import annotations

import io

from kstreams_files.files import FileData

__all__ = ("Seekable",)


class Seekable(io.RawIOBase):
    """A seekable, read-only file object, for libraries that need random access.

    Args:
        data: The file, which `close` leaves open.
    """

    def __init__(self, data: FileData) -> None:
        super().__init__()
        self._data = data
        self._at = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the current position."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set and return the current position."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._data.size}[whence]
        if base + offset < 0:
            raise OSError(
                f"cannot seek to the negative position {base + offset}"
            )  # as files of Python do
        self._at = base + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """Return up to `size` bytes; all remaining bytes if it is None or negative."""
        left = max(self._data.size - self._at, 0)
        wanted = left if size is None or size < 0 else min(size, left)
        found = self._data.read(self._at, wanted) if wanted else b""
        self._at += len(found)
        return found
