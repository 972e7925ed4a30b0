"""Files that nobody writes to any more, as far as looking on can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic, sleep

from kstreams_files.files import FileData, FileInfo, Files

__all__ = ("SteadyFiles",)


class SteadyFiles:
    """A `Files` that leaves out what was not seen at the same version for some time.

    By this process's clock: that of who writes, or of a server, is not asked. The first look
    waits, so that a run to the end sees all; later ones leave a file to the next one.

    Args:
        files: All there are.
        steady_s: How long, in seconds; with zero none is left out.
    """

    def __init__(self, files: Files, steady_s: float) -> None:
        self._files = files
        self._steady_s = steady_s
        self._since: dict[str, tuple[str, float]] = {}
        self._looked = False

    @property
    def label(self) -> str:
        """That of the files."""
        return self._files.label

    def list(self) -> Iterator[FileInfo]:
        """Yield those that are steady."""
        if not self._steady_s:
            yield from self._files.list()
            return
        found = self._look()
        if len(found) and not self._looked:
            sleep(self._steady_s)
            found = self._look()
        self._looked = True
        now = monotonic()
        for file in found:
            if now - self._since[file.name][1] >= self._steady_s:
                yield file

    def _look(self) -> Sequence[FileInfo]:
        """List all, and note since when each has its version."""
        found = tuple(self._files.list())
        now = monotonic()
        before, self._since = self._since, {}
        for file in found:
            version, since = before.get(file.name, ("", now))
            self._since[file.name] = file.version, since if version == file.version else now
        return found

    def open(self, file: FileInfo) -> FileData:
        """Open a file at its version."""
        return self._files.open(file)
