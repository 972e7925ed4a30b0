"""A directory of an SFTP server as storage for a file sink."""

from __future__ import annotations

import errno
import io
import stat
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from posixpath import dirname
from typing import TYPE_CHECKING
from uuid import uuid4

from kstreams.state import object_name_parts
from kstreams_sftp.paths import exists, make_parents
from kstreams_sftp.session import Session

if TYPE_CHECKING:
    from kstreams_sftp.client import Client
    from kstreams_sftp.settings import Sftp

__all__ = ("SftpStore",)

_PART = ".part"


class SftpStore:
    """Files below the directory of the settings, written under temporary names and renamed.

    Thread-safe. Pickles as its settings: a process opens its own connection. Links below the
    directory are ignored.

    Args:
        settings: The settings of the server and the directory.
    """

    def __init__(self, settings: Sftp) -> None:
        self._settings = settings
        self._session = Session(settings)

    def __repr__(self) -> str:
        return f"SftpStore({self._settings.place!r})"

    def __reduce__(self) -> tuple[type[SftpStore], tuple[Sftp]]:
        return SftpStore, (self._settings,)

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Create a file atomically unless its name exists; return whether it was created.

        The file is written under another name, flushed to the server's disk if the server supports
        `fsync@openssh.com`, and renamed. A retry after a lost response recognizes its own earlier
        success.

        Raises:
            SftpUnavailableError: The server did not answer within `give_up_after`. The file may
                exist.
            SftpError: The server rejects the request.
            ValueError: The name is not a relative path, or has an empty, `.` or `..` part.
        """
        path = self._path(name)
        aside = f"{path}.{uuid4().hex}{_PART}"
        renaming = False

        def create(client: Client) -> bool:
            nonlocal renaming
            if exists(client, path):
                return renaming and not exists(client, aside)
            make_parents(client, path)
            with client.open(aside, "wb") as file:
                file.set_pipelined(True)
                for start in range(0, len(data), io.DEFAULT_BUFFER_SIZE * 4):
                    file.write(data[start : start + io.DEFAULT_BUFFER_SIZE * 4])
                file.flush()
                file.set_pipelined(False)
                client.sync(file)
            written = client.stat(aside).st_size
            if written != len(data):
                raise EOFError(f"{written} of {len(data)} bytes were written")
            renaming = True
            try:
                client.rename(aside, path)
            except OSError:
                if not exists(client, path):
                    raise
                client.remove(aside)
                return False
            return True

        return self._session.run(f"write {name!r}", create)

    def move(self, name: str, to: str, *, replace: bool = False) -> bool:
        """Rename a file atomically; return whether it existed.

        If the new name exists, that file stays and this one is deleted; with `replace`, this one
        replaces it.

        Raises:
            SftpError: The server rejects the request, or does not answer.
            ValueError: A name is not a relative path, or has an empty, `.` or `..` part.
        """
        path, target = self._path(name), self._path(to)

        def rename(client: Client) -> bool:
            if not replace and exists(client, target):
                return _remove(client, path)
            if not exists(client, path):
                return False
            make_parents(client, target)
            if replace:
                _replace(client, path, target)
            else:
                client.rename(path, target)
            return True

        return self._session.run(f"rename {name!r}", rename)

    def obstacle(self, name: str) -> str:
        """Return the path that blocks a name: a file in place of a directory, or the reverse."""
        steps = object_name_parts(name)

        def look(client: Client) -> str:
            for count in range(1, len(steps) + 1):
                below = "/".join(steps[:count])
                try:
                    mode = client.stat(self._path(below)).st_mode or 0
                except FileNotFoundError:
                    return ""
                if stat.S_ISDIR(mode) == (count == len(steps)):
                    kind = "directory" if stat.S_ISDIR(mode) else "file"
                    return f"there is a {kind} {below!r}"
            return ""

        return self._session.run(f"look at {name!r}", look)

    def list(self, prefix: str) -> Iterator[str]:
        """Yield, in sorted order, the names that start with a prefix."""
        parent = dirname(prefix)
        start = self._path(parent) if parent else self._settings.root

        def names(client: Client) -> Sequence[str]:
            return sorted(_below(client, start, f"{parent}/" if parent else "", prefix))

        yield from self._session.run(f"list {prefix!r}", names)

    def delete(self, names: Iterable[str]) -> None:
        """Delete files; names that do not exist are no error. Empty directories stay."""
        for name in names:
            self._session.run(f"delete {name!r}", partial(_remove, path=self._path(name)))

    def close(self) -> None:
        """Close the connection; the next operation opens a new one."""
        self._session.close()

    def _path(self, name: str) -> str:
        object_name_parts(name)
        return f"{self._settings.root.rstrip('/')}/{name}"


def _remove(client: Client, path: str) -> bool:
    try:
        client.remove(path)
    except FileNotFoundError:
        return False
    return True


def _replace(client: Client, path: str, target: str) -> None:
    """Rename a file, and replace an existing file of the new name; atomically if supported."""
    try:
        client.posix_rename(path, target)
    except OSError as exc:
        if exc.errno != errno.EOPNOTSUPP:
            raise
        _remove(client, target)
        client.rename(path, target)


def _below(client: Client, path: str, base: str, prefix: str) -> Iterator[str]:
    """Yield the names of files below a directory that start with a prefix.

    Args:
        client: The SFTP client.
        path: The path of the directory.
        base: The start of the names in this directory: its path below the top directory, with a
            slash at its end; empty for the top directory.
        prefix: The required prefix of names.
    """
    try:
        entries = client.listdir_attr(path)
    except FileNotFoundError:
        if not base:
            raise
        return
    for entry in entries:
        name = base + entry.filename
        mode = entry.st_mode or 0
        if stat.S_ISDIR(mode):
            if name.startswith(prefix[: len(name)]):
                yield from _below(client, f"{path}/{entry.filename}", f"{name}/", prefix)
        elif stat.S_ISREG(mode) and name.startswith(prefix):
            yield name
