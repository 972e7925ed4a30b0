"""Files whose version has not changed for some time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic, sleep

from typing_extensions import override

from kstreams_files.files import FileData, FileInfo, Files

__all__ = ("SteadyFiles",)


class SteadyFiles(Files):
    """A `Files` that leaves out files whose version has recently changed.

    The time is measured by this process's clock, not by that of writers or servers. The first
    search waits, so that a run to the end includes all files; later searches leave a changed file
    to the next search.

    Args:
        files: All files.
        steady_s: The time in seconds; zero includes all files.
    """

    def __init__(self, files: Files, steady_s: float) -> None:
        self._files = files
        self._steady_s = steady_s
        self._since: dict[str, tuple[str, float]] = {}
        self._looked = False

    @property
    def label(self) -> str:
        """The name in texts and diagrams, from the inner `Files`."""
        return self._files.label

    def list(self) -> Iterator[FileInfo]:
        """Yield the files whose version has not changed for `steady_s` seconds."""
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
        """List all files, and store since when each file has had its version."""
        found = tuple(self._files.list())
        now = monotonic()
        before, self._since = self._since, {}
        for file in found:
            version, since = before.get(file.name, ("", now))
            self._since[file.name] = file.version, since if version == file.version else now
        return found

    @override
    def open(self, file: FileInfo) -> FileData:
        return self._files.open(file)
