"""The policy for files after the commit of their records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from kstreams.errors import CompileError
from kstreams.names import is_path_below, shown_name
from kstreams_files.files import FileInfo, Files

__all__ = ("FinishedFiles", "Finishing", "MoveTo", "WhenRead", "check_when_read")


@dataclass(frozen=True)
class MoveTo:
    """Moves files that were read to a folder, with the same relative path.

    Args:
        folder: The target, relative to the folder that is read. It begins with `_` or `.`, such as
            `_done`, so that moved files are not read again.

    Raises:
        ValueError: The target is outside of the folder, or its files would be read.
    """

    folder: str

    def __post_init__(self) -> None:
        hidden = is_path_below(self.folder) and self.folder.startswith(("_", "."))
        if not hidden:
            raise ValueError(
                f"MoveTo({shown_name(self.folder)}): expected a relative path of a folder below "
                "the files, whose name begins with '_' or '.', such as '_done'"
            )


WhenRead: TypeAlias = Literal["leave", "delete"] | MoveTo
"""The policy for a file after the commit of the results of all its records."""


@runtime_checkable
class FinishedFiles(Files, Protocol):
    """A `Files` that can delete and move files."""

    def take_away(self, file: FileInfo, to: str) -> None:
        """Delete a file at its version, or rename it; a repeated call does nothing.

        A file with another version is left unchanged, and a missing file is ignored.

        Args:
            file: A file that was read.
            to: The new path; empty deletes the file.

        Raises:
            SourceError: The file may not be removed, or the new path exists.
            SourceUnavailableError: The source does not answer.
        """
        ...


def check_when_read(name: str, files: Files, when_read: WhenRead) -> None:
    """Check that a collection supports the policy.

    Raises:
        CompileError: The policy is invalid, or the collection does not support it.
    """
    if when_read != "leave" and not isinstance(files, FinishedFiles):
        raise CompileError(
            f"log {name!r}: files of {files.label} cannot be deleted or moved",
            hint="leave out when_read=, or add the method `take_away` to the class of the `Files`.",
        )
    if not (isinstance(when_read, MoveTo) or when_read in ("leave", "delete")):
        raise CompileError(
            f"log {name!r}: when_read is {when_read!r}, expected 'leave', 'delete' or "
            "MoveTo('_done')",
        )


class Finishing:
    """Deletes or moves files that were read.

    Args:
        files: The files.
        when_read: The policy.
    """

    def __init__(self, files: Files, when_read: WhenRead) -> None:
        self._files = files if isinstance(files, FinishedFiles) else None
        self._folder = when_read.folder if isinstance(when_read, MoveTo) else ""
        self.leaves = when_read == "leave"

    def take_away(self, file: FileInfo) -> None:
        """Delete a file, or move it; raises as `FinishedFiles.take_away`."""
        if self._files is not None and not self.leaves:
            self._files.take_away(file, f"{self._folder}/{file.name}" if self._folder else "")
