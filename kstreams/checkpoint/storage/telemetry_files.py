"""Files beside a checkpoint that tell of an app, and decide nothing: whole documents, and lines.

Whoever may read the checkpoint may read them, whether the app runs or not. What is in them is
said by `kstreams.telemetry`; here is where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ("FOLDER", "TelemetryFiles")

FOLDER = "telemetry"
"""What has them, in a checkpoint."""


class TelemetryFiles(Protocol):
    """An app's files; one process writes, any may read.

    A name is a relative path of safe steps, such as `live.json` or `reports/lines.jsonl`. Nothing
    is synced: what a crash of the machine takes is a minute of reports.
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
        """Return the last lines, oldest first; none where there are none.

        The first or the last may be cut, where a writer was killed: readers pass over what is no
        JSON.

        Args:
            name: Of the lines.
            most: How many at most.

        Raises:
            OSError, StoreError: They cannot be read.
        """
        ...
