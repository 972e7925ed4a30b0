"""The storage of a Delta table and its failures."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import TypeVar

import pyarrow as pa
from pyarrow.fs import FileSelector, FileType, PyFileSystem
from typing_extensions import override

from kstreams.errors import SinkError
from kstreams_delta.sdk import DeltaStorageHandler, deltalake, exceptions
from kstreams_rows.retrying import Faults, hidden, retried
from kstreams_rows.staging import Files

__all__ = ("DeltaFiles", "Storage")

T = TypeVar("T")
"""The type of an operation's result."""

_OPTIONS = {"timeout": "30s", "connect_timeout": "5s", "max_retries": "3", "retry_timeout": "15s"}
_SECRET = 6
"""The minimum length of a text that is hidden as a secret, in characters."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_SPACES = re.compile(r"\s+")


class Storage:
    """The location of a table and its storage options.

    Args:
        uri: The path of a directory, or a URL.
        options: Storage options of deltalake; they override the sink's defaults.
        give_up_after: The maximum time to retry.
    """

    def __init__(self, uri: str, options: Mapping[str, str], give_up_after: timedelta) -> None:
        self.uri = uri
        self.options = {**_OPTIONS, **options}
        self._give_up_after = give_up_after
        self._faults = Faults(
            "Delta",
            (exceptions.DeltaError, OSError),
            _may_pass,
            lambda exc: type(exc).__name__,
            lambda exc: hidden(_plain(str(exc)), _secrets(options)),
            "check the uri of the table, options= of the storage, and the permissions of the "
            "credentials.",
        )

    def retried(self, work: Callable[[], T], forget: Callable[[], None] = lambda: None) -> T:
        """Return the result of an operation; retry temporary failures.

        Args:
            work: The operation; it must be safe to repeat.
            forget: Called after each failure, to drop the open table.

        Raises:
            SinkUnavailableError: The storage did not answer within `give_up_after`.
            SinkError: The storage or the table rejected the operation; a retry would be rejected
                too.
        """
        return retried(work, self._faults, self._give_up_after, forget)

    def open(self) -> deltalake.DeltaTable | None:
        """Return the newest version of the table; None if the table does not exist."""
        try:
            return deltalake.DeltaTable(self.uri, storage_options=dict(self.options))
        except exceptions.TableNotFoundError:
            return None

    def there(self) -> deltalake.DeltaTable:
        """Return the newest version of the table.

        Raises:
            SinkError: The table does not exist.
        """
        found = self.open()
        if found is None:
            raise SinkError(
                f"there is no Delta table in {self.uri}",
                hint="another client has deleted the table: restart the app, which creates it "
                "again.",
            )
        return found

    def files(self) -> DeltaFiles:
        """Return the storage of the table's files."""
        return DeltaFiles(DeltaStorageHandler(self.uri, dict(self.options)))


class DeltaFiles(Files):
    """The files of a table, accessed through deltalake's storage."""

    def __init__(self, handler: DeltaStorageHandler) -> None:
        self._handler = handler
        self._system = PyFileSystem(handler)

    @override
    def write(self, name: str, data: bytes) -> None:
        stream = self._handler.open_output_stream(name)
        # It takes bytes alone, and pyarrow would give it a buffer: one that is buffered does not.
        with pa.BufferedOutputStream(stream, len(data) + 1) as buffered:
            buffered.write(data)

    @override
    def read(self, name: str) -> bytes:
        with self._handler.open_input_file(name) as file:
            return bytes(file.read())

    @override
    def list(self, folder: str) -> list[str]:
        selector = FileSelector(folder, allow_not_found=True)
        found = self._system.get_file_info(selector)
        return sorted(each.path for each in found if each.type is FileType.File)

    @override
    def exists(self, name: str) -> bool:
        (found,) = self._system.get_file_info([name])
        return bool(found.type is FileType.File)

    @override
    def delete(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._system.delete_file(name)


def _may_pass(exc: Exception) -> bool:
    if isinstance(exc, OSError):
        return not isinstance(exc, (FileNotFoundError, PermissionError, NotADirectoryError))
    return isinstance(exc, exceptions.CommitFailedError)


def _secrets(options: Mapping[str, str]) -> list[str]:
    return [value for value in options.values() if len(value) >= _SECRET]  # "true" is none


def _plain(text: str) -> str:
    """Return a text without color codes, on one line."""
    return _SPACES.sub(" ", _COLOURS.sub("", text)).strip()
