"""Files in memory, which pyiceberg writes before they are staged."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import cast

from kstreams_iceberg.sdk import FileIO, InputFile, InputStream, OutputFile, OutputStream

__all__ = ("MemoryIO",)


class MemoryIO(FileIO):
    """An in-memory storage for pyiceberg.

    Args:
        data: The bytes of files, by location.
    """

    def __init__(self, data: Mapping[str, bytes] | None = None) -> None:
        super().__init__()
        self.data = dict(data or {})

    def new_input(self, location: str) -> InputFile:
        """Return a file to read."""
        return _Read(location, self.data)

    def new_output(self, location: str) -> OutputFile:
        """Return a file to write."""
        return _Written(location, self.data)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete a file from memory."""
        self.data.pop(location if isinstance(location, str) else location.location)


class _Read(InputFile):
    def __init__(self, location: str, data: dict[str, bytes]) -> None:
        super().__init__(location)
        self._data = data

    def __len__(self) -> int:
        return len(self._data[self.location])

    def exists(self) -> bool:
        return self.location in self._data

    def open(self, seekable: bool = True) -> InputStream:
        return cast("InputStream", io.BytesIO(self._data[self.location]))


class _Written(OutputFile):
    def __init__(self, location: str, data: dict[str, bytes]) -> None:
        super().__init__(location)
        self._data = data

    def __len__(self) -> int:
        return len(self._data[self.location])

    def exists(self) -> bool:
        return self.location in self._data

    def to_input_file(self) -> InputFile:
        return _Read(self.location, self._data)

    def create(self, overwrite: bool = False) -> OutputStream:
        return cast("OutputStream", _Stream(self.location, self._data))


class _Stream(io.BytesIO):
    """A stream whose bytes become a file when it is closed."""

    def __init__(self, location: str, data: dict[str, bytes]) -> None:
        super().__init__()
        self._location = location
        self._data = data

    def close(self) -> None:
        if not self.closed:
            self._data[self._location] = self.getvalue()
        super().close()
