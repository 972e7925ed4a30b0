"""Notes of finished batches, stored separately from the commits.

The commits are authoritative. A note proves that a commit existed: without it, a log that has lost
its last commit would look like the log of a driver that died before the commit.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ("NO_NOTES", "DoneNotes")

_KEPT = 2


class DoneNotes:
    """Notes of finished batches: empty files, each named by a batch number; the newest two stay.

    The files are not synced to disk: after a loss of power, a lost commit may remain unnoticed.

    Args:
        folder: The folder; None writes no notes.
        older: The folder of Spark's own notes, which earlier versions used.
    """

    def __init__(self, folder: Path | None, older: Path | None = None) -> None:
        self._folder = folder
        self._older = older

    def begin(self, last: int) -> None:
        """Replace all notes by a note of the last committed batch; no note if `last` is negative.

        The other notes are not needed, because the log has the commits.

        Raises:
            OSError: The folder cannot be written.
        """
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        if last >= 0:
            (self._folder / str(last)).touch()
        for number in _numbers(self._folder) - {last}:
            (self._folder / str(number)).unlink(missing_ok=True)

    def note(self, batch: int) -> None:
        """Write a note that a batch is committed.

        Raises:
            OSError: The folder cannot be written.
        """
        if self._folder is None:
            return
        try:
            (self._folder / str(batch)).touch()
        except FileNotFoundError:  # somebody has removed the folder: not more than that is made
            self._folder.mkdir(exist_ok=True)
            (self._folder / str(batch)).touch()
        (self._folder / str(batch - _KEPT)).unlink(missing_ok=True)

    def last(self) -> int:
        """Return the number of the newest batch with a note; -1 without notes."""
        has_begun = self._folder is not None and self._folder.is_dir()
        folder = self._folder if has_begun else self._older
        return max(_numbers(folder), default=-1) if folder is not None else -1


def _numbers(folder: Path) -> set[int]:
    try:
        names = [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return set()
    return {int(name) for name in names if name.isascii() and name.isdigit()}


NO_NOTES = DoneNotes(None)
"""The notes of a checkpoint that stores no notes."""
