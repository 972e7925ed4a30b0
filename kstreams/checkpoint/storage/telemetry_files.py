"""Telemetry files in a checkpoint, without effect on results: whole documents, and lines.

All readers of the checkpoint may read them, whether the app runs or not. `kstreams.telemetry`
defines their content; this module defines their places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ("FOLDER", "TelemetryFiles")

FOLDER = "telemetry"
"""The folder of the files in a checkpoint."""


class TelemetryFiles(Protocol):
    """The files of an app; one process writes, any process may read.

    A name is a relative path of safe steps, such as `live.json` or `reports/lines.jsonl`. Files are
    not synced: a crash of the machine loses a minute of reports.
    """

    @property
    def every_s(self) -> float:
        """Return how often a writer should write at most, in seconds: each time may cost."""
        ...

    def replace(self, name: str, data: bytes) -> None:
        """Write a document, in the place of the one that is there: readers see one of the two.

        Raises:
            OSError, StoreError: It cannot be written; the old one stays.
        """
        ...

    def append(self, name: str, lines: Sequence[bytes]) -> None:
        """Add lines, without their breaks; the oldest ones go where there are too many.

        Raises:
            OSError, StoreError: They cannot be written.
        """
        ...

    def read(self, name: str) -> bytes | None:
        """Return a document; None where there is none.

        Raises:
            OSError, StoreError: It cannot be read.
        """
        ...

    def lines(self, name: str, most: int) -> list[bytes]:
        """Return the last lines, oldest first; empty without any.

        The first or the last line may be cut if a writer was killed; readers skip lines that are
        not JSON.

        Args:
            name: The name of the lines.
            most: The maximum number.

        Raises:
            OSError, StoreError: The lines are unreadable.
        """
        ...
