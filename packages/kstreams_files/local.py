"""Files in a directory of this machine or of a shared file system."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from typing_extensions import override

from kstreams.clock import SystemClock
from kstreams.errors import FileChangedError, SourceError
from kstreams.names import is_path_below, shown_name
from kstreams_files.files import FileData, FileInfo
from kstreams_files.finished import FinishedFiles

__all__ = ("LocalFiles", "is_unfinished")

_UNFINISHED = (".part", ".partial", ".tmp", ".crdownload", "~")
_CHANGED = (
    "restore the file with its modification time, or reset the app. Add only complete files: write "
    "each file under a name that ends with '.part', then rename it; write new content to a new "
    "file."
)


def is_unfinished(name: str) -> bool:
    """Return whether a file must not be read because of its name: hidden or incomplete.

    A component of the name begins with `.` or `_`, or the name has a suffix of unfinished files.
    """
    return name.endswith(_UNFINISHED) or any(step[:1] in "._" for step in name.split("/"))


@dataclass(frozen=True)
class LocalFiles(FinishedFiles):
    """Files below a directory; linked directories, and links out of it, are ignored.

    Args:
        root: The directory, absolute.
        pattern: The pattern of file names, without directories.
        recursive: Whether to include subdirectories.
        min_age_ms: The minimum time since the last change of a file.
    """

    root: str
    pattern: str = "*"
    recursive: bool = False
    min_age_ms: int = 0

    @property
    def label(self) -> str:
        """The text in diagrams: the directory and the pattern."""
        return f"{self.root}/{'**/' if self.recursive else ''}{self.pattern}"

    def list(self) -> Iterator[FileInfo]:
        """Yield the existing files that match.

        Raises:
            SourceError: The directory does not exist or cannot be read.
        """
        before = SystemClock().now_ms() - self.min_age_ms
        root = os.path.realpath(self.root)
        for info in self._below("", root):
            if not self.min_age_ms or info.modified_ms <= before:
                yield info

    def _below(self, prefix: str, root: str) -> Iterator[FileInfo]:
        try:
            with os.scandir(Path(self.root) / prefix) as found:
                entries = list(found)
        except FileNotFoundError as exc:
            if prefix:
                return  # deleted meanwhile
            raise SourceError(f"there is no folder {self.root}", hint="create the folder.") from exc
        except OSError as exc:
            raise SourceError(f"cannot list {self.root}/{prefix}: {exc}") from exc
        for entry in entries:
            name = prefix + entry.name
            if is_unfinished(name):
                continue
            if entry.is_dir(follow_symlinks=False):
                if self.recursive:
                    yield from self._below(f"{name}/", root)
            elif fnmatchcase(entry.name, self.pattern):
                yield from self._file(entry, name, root)

    def _file(self, entry: os.DirEntry[str], name: str, root: str) -> Iterator[FileInfo]:
        try:
            known = entry.stat()
        except FileNotFoundError:  # deleted meanwhile, or a link to nowhere
            return
        except OSError as exc:
            raise SourceError(f"cannot read the status of {self.root}/{name}: {exc}") from exc
        inside = not entry.is_symlink() or _is_inside(entry.path, root)
        if stat.S_ISREG(known.st_mode) and inside:
            yield _info(name, known)

    @override
    def open(self, file: FileInfo) -> FileData:
        path = f"{self.root}/{file.name}"
        if not is_path_below(file.name) or not _is_inside(path, os.path.realpath(self.root)):
            raise SourceError(
                f"file {shown_name(file.name)} is outside of the folder {self.root}, or is a "
                f"link to a file outside of it"
            )
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError as exc:
            raise FileChangedError(
                f"file {path} was removed before its records were read", hint=_CHANGED
            ) from exc
        except OSError as exc:
            raise SourceError(f"cannot read {path}: {exc}") from exc
        data = _LocalData(handle, path, file)
        try:
            data.check()
        except BaseException:
            data.close()
            raise
        return data

    @override
    def take_away(self, file: FileInfo, to: str) -> None:
        path = Path(self.root, file.name)
        if not self._is_still(path, file):
            return
        try:
            if to:
                self._link(path, Path(self.root, to), to)
            path.unlink(missing_ok=True)
        except OSError as exc:
            raise SourceError(
                f"cannot {'move' if to else 'delete'} {path}, whose records were read: {exc}",
                hint="allow the app to write to the directory, or leave files there: "
                "when_read='leave'.",
            ) from exc

    def _is_still(self, path: Path, file: FileInfo) -> bool:
        """Return whether the directory still has a file with the same version."""
        try:
            known = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        inside = is_path_below(file.name) and _is_inside(str(path), os.path.realpath(self.root))
        return inside and _info(file.name, known).version == file.version

    def _link(self, path: Path, target: Path, to: str) -> None:
        """Create the hard link `target` to the file `path`, unless a killed process has created it.

        `to` is the new name in the collection, for the error.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, target)
        except FileExistsError:
            if not target.samefile(path):
                raise SourceError(
                    f"file {str(path)!r} was read, but cannot be moved to {to!r}: another file "
                    "has this name",
                    hint="move the other file away; it is an earlier file of the same name.",
                ) from None


class _LocalData(FileData):
    """The bytes of a file on this machine.

    Args:
        handle: The open handle; closed with this object.
        path: The path, for error texts.
        file: The expected version.
    """

    def __init__(self, handle: int, path: str, file: FileInfo) -> None:
        self._handle = handle
        self._path = path
        self._file = file
        self.name = file.name
        self.size = file.size

    @override
    def read(self, start: int, length: int) -> bytes:
        try:
            return os.pread(self._handle, length, start)
        except OSError as exc:
            raise SourceError(f"cannot read {self._path}: {exc}") from exc

    @override
    def check(self) -> None:
        known = os.fstat(self._handle)
        found = _info(self._file.name, known)
        if found.version != self._file.version or not stat.S_ISREG(known.st_mode):
            raise FileChangedError(
                f"file {self._path} has changed since its records were planned: the version "
                f"(modification time and size) was {self._file.version}, and is {found.version} "
                "now",
                hint=_CHANGED,
            )

    @override
    def close(self) -> None:
        os.close(self._handle)


def _info(name: str, known: os.stat_result) -> FileInfo:
    version = f"{known.st_mtime_ns}-{known.st_size}"
    return FileInfo(name, version, known.st_size, known.st_mtime_ns // 1_000_000)


def _is_inside(path: str, root: str) -> bool:
    """Return whether a path is below a real directory after all links are resolved."""
    return os.path.realpath(path).startswith(f"{root.rstrip('/')}/")
