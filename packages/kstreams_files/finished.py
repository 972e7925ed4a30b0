"""What becomes of files that were read, after the commit of what was made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from kstreams.errors import CompileError
from kstreams.names import is_path_below, shown_name
from kstreams_files.files import FileInfo, Files

__all__ = ("FinishedFiles", "Finishing", "MoveTo", "WhenRead", "check_when_read")


@dataclass(frozen=True)
class MoveTo:
    """Files that were read get another place, under the path that they had.

    Args:
        folder: Below the place that is read, where its name has a step that begins with `_` or
            `.`, so that nothing there is read again: `_done`.

    Raises:
        ValueError: It leads elsewhere, or would be read.
    """

    folder: str

    def __post_init__(self) -> None:
        hidden = is_path_below(self.folder) and self.folder.startswith(("_", "."))
        if not hidden:
            raise ValueError(
                f"MoveTo({shown_name(self.folder)}): files that were read go to a folder below the "
                "place that is read, whose name begins with '_' or '.', such as '_done'"
            )


WhenRead: TypeAlias = Literal["leave", "delete"] | MoveTo
"""What becomes of a file when all that was made of its records is committed."""


@runtime_checkable
class FinishedFiles(Files, Protocol):
    """A `Files` that can take files away."""

    def take_away(self, file: FileInfo, to: str) -> None:
        """Delete a file at its version, or give it another path; what is done stays done.

        One that has another version is left, and so is one that is gone.

        Args:
            file: A file that was read.
            to: Its new path below the place; empty deletes.

        Raises:
            SourceError: It may not be taken away, or there is another file of that path.
            SourceUnavailableError: The place does not answer.
        """
        ...


def check_when_read(name: str, files: Files, when_read: WhenRead) -> None:
    """Refuse what a place cannot do.

    Raises:
        CompileError: It cannot.
    """
    if when_read != "leave" and not isinstance(files, FinishedFiles):
        raise CompileError(
            f"log {name!r}: files of {files.label} cannot be taken away",
            hint="leave out when_read=, or give the `Files` a method `take_away`.",
        )
    if not (isinstance(when_read, MoveTo) or when_read in ("leave", "delete")):
        raise CompileError(
            f"log {name!r}: when_read is {when_read!r}",
            hint="say 'leave', 'delete' or MoveTo('_done').",
        )


class Finishing:
    """Takes files away that were read.

    Args:
        files: Where they are.
        when_read: What becomes of them.
    """

    def __init__(self, files: Files, when_read: WhenRead) -> None:
        self._files = files if isinstance(files, FinishedFiles) else None
        self._folder = when_read.folder if isinstance(when_read, MoveTo) else ""
        self.leaves = when_read == "leave"

    def take_away(self, file: FileInfo) -> None:
        """Delete a file, or move it; raises as `FinishedFiles.take_away`."""
        if self._files is not None and not self.leaves:
            self._files.take_away(file, f"{self._folder}/{file.name}" if self._folder else "")
