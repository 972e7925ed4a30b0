"""Files of a server's directory as a log: a source of records."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from typing_extensions import override

from kstreams.errors import FileChangedError, SourceError
from kstreams.sources import (
    FileData,
    FileInfo,
    FileLog,
    FinishedFiles,
    Format,
    WhenRead,
    is_unfinished,
)
from kstreams.state import ObjectStoreSettings
from kstreams_sftp.paths import exists, make_parents
from kstreams_sftp.session import Session
from kstreams_sftp.settings import Sftp

if TYPE_CHECKING:
    from paramiko import SFTPAttributes, SFTPFile

    from kstreams_sftp.client import Client

__all__ = ("sftp_folder",)

K = TypeVar("K")
"""Type of the keys."""
V = TypeVar("V")
"""Type of the values."""

_CHANGED = (
    "restore the file with its old content and modification time, or reset the app. To avoid the "
    "error, upload a file under a name that ends with '.part' and rename the complete file, and "
    "upload new content under a new name."
)


def sftp_folder(
    name: str,
    place: Sftp,
    format: Format[K, V],  # noqa: A002  # the public name of the option
    *,
    index: ObjectStoreSettings,
    pattern: str = "*",
    recursive: bool = False,
    partitions: int = 1,
    steady_for: timedelta = timedelta(seconds=2),
    look_every: timedelta = timedelta(seconds=5),
    when_read: WhenRead = "leave",
) -> FileLog[K, V]:
    """Return the log of the files in a server's directory.

    As for `kstreams.sources.folder`, names that begin with `.` or `_`, or end with `.part`,
    `.partial`, `.tmp`, `.crdownload` or `~`, are ignored; so are links to files and directories. A
    file's version is its size and its modification time in seconds: a file that is overwritten
    within a second with the same size is not noticed.

    Args:
        name: The name of the log, for its positions in checkpoints.
        place: The server and the directory.
        format: The format of the files.
        index: The store of the offsets of files: `Directory(path)`, or objects in S3. It cannot
            be the server, because SFTP cannot create a file atomically.
        pattern: The pattern of file names: `*.csv`.
        recursive: Whether to read subdirectories.
        partitions: The number of tasks that read at the same time, each task a different file; it
            must never change.
        steady_for: The time for which a file must have had the same size and modification time
            before it is read, if its writer does not rename it. The first poll waits that long.
        look_every: The interval between polls for new files.
        when_read: The policy for a file after the commit of its results: `"leave"`, `"delete"` or
            `MoveTo("_done")`; see `FileLog`.

    Raises:
        CompileError: The name or the number of partitions is invalid.
        ValueError: `steady_for` or `look_every` is negative.
    """
    return FileLog(
        name,
        _SftpFiles(place, pattern, recursive),
        format,
        index=index,
        partitions=partitions,
        steady_for=steady_for,
        look_every=look_every,
        when_read=when_read,
    )


@dataclass(frozen=True)
class _SftpFiles(FinishedFiles):
    """Lists and reads the files of a server's directory, for a `FileLog`."""

    place: Sftp
    pattern: str
    recursive: bool

    @property
    def label(self) -> str:
        """A description of server, directory and pattern."""
        return f"{self.place.place}, {self.pattern}"

    @override
    def list(self) -> Iterator[FileInfo]:
        yield from _session(self.place).run("list the files", self._all)

    def _all(self, client: Client) -> Sequence[FileInfo]:
        return tuple(self._below(client, ""))

    def _below(self, client: Client, prefix: str) -> Iterator[FileInfo]:
        try:
            entries = client.listdir_attr(_path(self.place, prefix))  # type: ignore[arg-type]  # bytes will do
        except FileNotFoundError:
            if not prefix:
                raise
            return  # deleted meanwhile
        for entry in entries:
            name = prefix + _step(entry.filename, self.place)
            mode = entry.st_mode or 0
            if is_unfinished(name):
                continue
            if stat.S_ISDIR(mode):
                if self.recursive:
                    yield from self._below(client, f"{name}/")
            elif stat.S_ISREG(mode) and fnmatchcase(entry.filename, self.pattern):
                yield _info(name, entry)

    @override
    def open(self, file: FileInfo) -> FileData:
        if is_unfinished(file.name):
            raise SourceError(
                f"file {file.name!r} of {self.place.place} cannot be read: it is a hidden or "
                f"unfinished file according to its name, or is outside the folder"
            )
        data = _SftpData(self.place, file)
        try:
            data.check()
        except BaseException:
            data.close()
            raise
        return data

    @override
    def take_away(self, file: FileInfo, to: str) -> None:
        path = _path(self.place, file.name)

        def retire(client: Client) -> bool:
            try:
                found = client.lstat(path)
            except FileNotFoundError:
                return True  # also where an answer was lost
            if _info(file.name, found).version != file.version or is_unfinished(file.name):
                return True
            if not to:
                client.remove(path)
                return True
            target = f"{self.place.root.rstrip('/')}/{to}"
            if exists(client, target):
                return False
            make_parents(client, target)
            client.rename(path, target)
            return True

        if not _session(self.place).run(f"take {file.name!r} away", retire):
            raise SourceError(
                f"file {file.name!r} of {self.place.place} was read, but cannot be moved to "
                f"{to!r}: a file with this name exists",
                hint="move the existing file away: it was read earlier, under the same name.",
            )


class _SftpData(FileData):
    """The bytes of a file, reopened at its version after a lost connection.

    Args:
        place: The directory.
        file: The file at its expected version.
    """

    def __init__(self, place: Sftp, file: FileInfo) -> None:
        self._place = place
        self._file = file
        self._session = _session(place)
        self._opened: tuple[Client, SFTPFile] | None = None
        self.name = file.name
        self.size = file.size

    @override
    def read(self, start: int, length: int) -> bytes:
        wanted = min(length, self.size - start)
        if wanted <= 0:
            return b""
        return self._session.run(
            f"read {self.name!r}", lambda client: self._read(client, start, wanted)
        )

    def _read(self, client: Client, start: int, wanted: int) -> bytes:
        file = self._handle(client)
        data = b"".join(file.readv([(start, wanted)]))
        if len(data) < wanted:
            self._compare(file.stat())
            raise EOFError(f"received {len(data)} of {wanted} bytes")
        return data

    def _handle(self, client: Client) -> SFTPFile:
        """Return the open file of a connection."""
        if self._opened is not None and self._opened[0] is client:
            return self._opened[1]
        path = _path(self._place, self.name)
        try:
            self._check_path(client, path)
            file = client.open(path, "rb")
        except FileNotFoundError:
            raise FileChangedError(
                f"file {self.name!r} of {self._place.place} is gone", hint=_CHANGED
            ) from None
        self._opened = client, file
        self._compare(file.stat())
        return file

    def _check_path(self, client: Client, path: bytes) -> None:
        """Reject a file whose path has become a link since it was listed."""
        root = client.normalize(self._place.root).rstrip("/")
        found = client.normalize(path)
        if found != f"{root}/{self.name}" or stat.S_ISLNK(client.lstat(path).st_mode or 0):
            raise SourceError(
                f"file {self.name!r} of {self._place.place} is a link, or in a linked directory",
                hint="replace the link with the file or directory: links are not followed.",
            )

    def _compare(self, found: SFTPAttributes) -> None:
        now = _info(self.name, found)
        if now.version != self._file.version:
            raise FileChangedError(
                f"file {self.name!r} of {self._place.place} has changed since its records were "
                f"planned: its version (modification time and size) was {self._file.version}, and "
                f"is now {now.version}",
                hint=_CHANGED,
            )

    @override
    def check(self) -> None:
        self._session.run(
            f"look at {self.name!r}", lambda client: self._compare(self._handle(client).stat())
        )

    @override
    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened[1].close()


def _info(name: str, found: SFTPAttributes) -> FileInfo:
    seconds, size = found.st_mtime or 0, found.st_size or 0
    return FileInfo(name, f"{seconds}-{size}", size, seconds * 1000)


def _path(place: Sftp, name: str) -> bytes:
    """Return the path of a name below the directory, in the server's encoding."""
    path = f"{place.root.rstrip('/')}/{name}".rstrip("/") or "/"
    return path.encode(errors="surrogateescape")


def _step(name: str, place: Sftp) -> str:
    """Return a listed name, if it is a plain file name.

    Raises:
        SourceError: The name leads to another directory, so the server cannot be trusted.
    """
    if "/" in name or "\0" in name or name in ("", ".", ".."):
        raise SourceError(
            f"{place.place} lists the invalid file name {name[:80]!r}, which leads out of the "
            "directory"
        )
    return name


@lru_cache(maxsize=8)
def _session(place: Sftp) -> Session:
    """Return this process's session with a server."""
    return Session(place)
