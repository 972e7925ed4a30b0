"""Telemetry files in a checkpoint, without effect on results: whole documents, and lines.

Any reader of the checkpoint may read the files, whether or not the app runs. `kstreams.telemetry`
defines the content of the files; this module defines their storage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ("FOLDER", "TelemetryFiles")

FOLDER = "telemetry"
"""The folder of the files in a checkpoint."""


class TelemetryFiles(Protocol):
    """The files of an app; one process writes, any process may read.

    A name is a relative path, such as `live.json` or `reports/lines.jsonl`. Files are not synced to
    disk: a crash of the machine may lose a minute of reports.
    """

    @property
    def every_s(self) -> float:
        """Return the minimum interval between writes to one file, s; writes may cost money."""
        ...

    def replace(self, name: str, data: bytes) -> None:
        """Create a document or replace it atomically.

        Raises:
            OSError, StoreError: The document cannot be written; the old document stays.
        """
        ...

    def append(self, name: str, lines: Sequence[bytes]) -> None:
        """Append lines, given without line breaks; the oldest lines above a limit are deleted.

        Raises:
            OSError, StoreError: The lines cannot be written.
        """
        ...

    def read(self, name: str) -> bytes | None:
        """Return a document; None if it does not exist.

        Raises:
            OSError, StoreError: The document cannot be read.
        """
        ...

    def lines(self, name: str, most: int) -> list[bytes]:
        """Return the last `most` lines, oldest first; empty without lines.

        The first or the last line may be cut if a writer was killed; readers skip lines that are
        not JSON.

        Args:
            name: The name of the file of lines.
            most: The maximum number of lines.

        Raises:
            OSError, StoreError: The lines cannot be read.
        """
        ...
