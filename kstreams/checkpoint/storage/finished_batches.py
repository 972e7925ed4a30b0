"""Notes of finished batches, stored separately from the commits.

Only the commits count. A note shows that a commit must exist: if a log has lost its last commit,
only the note distinguishes this from a driver that died before the commit.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ("NO_NOTES", "DoneNotes")

_KEPT = 2


class DoneNotes:
    """Empty files in a folder, each named by the number of a batch; the newest ones are kept.

    The files are not synced with each batch: a loss of power only loses a check.

    Args:
        folder: The folder; None: no notes.
        older: The folder of Spark's own notes, which earlier versions used.
    """

    def __init__(self, folder: Path | None, older: Path | None = None) -> None:
        self._folder = folder
        self._older = older

    def begin(self, last: int) -> None:
        """Start with a note of the last committed batch; a negative number is none.

        Notes of other batches are removed, because the log has the commits.

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
        """Note that a batch is committed.

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
        """Return the newest batch that is noted; -1 if none is."""
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
"""Of a place where nothing is noted."""
