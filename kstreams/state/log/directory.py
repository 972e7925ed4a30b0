"""Durable objects as files of a directory, local or on a file system that all machines share."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

from kstreams.errors import ObjectMissingError, StoreError
from kstreams.files import open_regular
from kstreams.state.backend.objects import ObjectStore, object_name_parts

__all__ = ("Directory", "DirectoryObjectStore")

_UNFINISHED = ".unfinished"


@dataclass(frozen=True)
class Directory:
    """Settings: durable objects in a directory that all machines share.

    Args:
        path: The directory; created with the first object.
    """

    path: str

    @property
    def place(self) -> str:
        """The path of the directory, for messages."""
        return self.path

    def open(self) -> DirectoryObjectStore:
        """Return the object store; does not access the file system."""
        return DirectoryObjectStore(self.path)


class DirectoryObjectStore(ObjectStore):
    """Stores each object as a file below `root`, under the object's name, atomically.

    The store writes a temporary file, flushes it to disk (fsync), and links it to the object's
    name, which fails if the name exists. Objects survive a loss of power. The file system must
    support hard links. If several machines use the directory, creating a link must be atomic among
    them, as on NFS.

    Args:
        root: The directory; created with the first object.
        sync_names: Whether a creation also waits until the name is on disk. If False, the last
            created objects may be missing after a loss of power.
    """

    def __init__(self, root: str | Path, *, sync_names: bool = True) -> None:
        self._root = Path(root)
        self._sync_names = sync_names
        self._swept = False

    def __repr__(self) -> str:
        return f"DirectoryObjectStore({str(self._root)!r})"

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Create an object durably and atomically, unless its name exists already.

        Returns:
            True if this call created the object, False if an object of this name exists.

        Raises:
            StoreError: The disk is full or cannot be written; nothing was created.
            ValueError: The name is not a relative path of plain parts.
        """
        path = self._path(name)
        if path.exists():
            return False
        try:
            made = self._make_parents(path)
            with self._unfinished(data) as unfinished:
                try:
                    os.link(unfinished, path)
                except FileExistsError:
                    return False
            for directory in made if self._sync_names else ():
                _sync_directory(directory)
        except OSError as error:
            raise self._failed("write", name, error) from error
        return True

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """Return an object's bytes from `start` on, at most `length`; fewer if the object ends.

        Raises:
            ObjectMissingError: The object does not exist.
            StoreError: The object cannot be read.
        """
        try:
            with open_regular(self._path(name)) as file:
                file.seek(start)
                return file.read() if length is None else file.read(length)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
            raise ObjectMissingError(f"no object {name!r} in {self._root}") from error
        except OSError as error:
            raise self._failed("read", name, error) from error

    def move(self, name: str, to: str, *, replace: bool = False) -> bool:
        """Rename an object atomically and durably; return whether the object existed.

        If an object of the new name exists, it stays and the object `name` is deleted; with
        `replace`, the object of the new name is replaced.

        Raises:
            StoreError: The directory cannot be written.
            ValueError: A name is not a relative path of plain parts.
        """
        path, target = self._path(name), self._path(to)
        if not replace and target.exists():
            found = path.exists()
            self.delete([name])
            return found
        try:
            made = self._make_parents(target)
            try:
                path.rename(target)
            except FileNotFoundError:
                return False
            for directory in made:
                _sync_directory(directory)
        except OSError as error:
            raise self._failed("move", name, error) from error
        return True

    def obstacle(self, name: str) -> str:
        """Return why no object of this name can be created, as text; empty if one can be created.

        The reason is a directory of this name, or a file in place of a parent directory.
        """
        path = self._path(name)
        if path.is_dir():
            return f"there is a directory {name!r}"
        for parent in path.relative_to(self._root).parents:
            step = self._root / parent
            if step.exists() and not step.is_dir():
                return f"there is a file {str(parent)!r}"
        return ""

    def list(self, prefix: str) -> Iterator[str]:
        """Yield the names with a prefix in sorted order.

        Objects that are created or deleted meanwhile may or may not be included.
        """
        parent, _, _ = prefix.rpartition("/")
        start = self._path(parent) if parent else self._root
        if not self._is_linked(start):
            yield from _walk(start, f"{parent}/" if parent else "", prefix)

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; missing names are no error. Empty directories remain.

        Objects below a symbolic link in the root are not deleted.
        """
        is_linked = cache(self._is_linked)
        for name in names:
            path = self._path(name)
            try:
                if not is_linked(path.parent):
                    path.unlink(missing_ok=True)
            except NotADirectoryError:
                continue
            except OSError as error:
                raise self._failed("delete", name, error) from error

    def _is_linked(self, directory: Path) -> bool:
        """Return whether the path from the root to a directory has a symbolic link."""
        step = self._root
        for name in directory.relative_to(self._root).parts:
            step /= name
            if step.is_symlink():
                return True
        return False

    def _path(self, name: str) -> Path:
        return self._root.joinpath(*object_name_parts(name))

    def _make_parents(self, path: Path) -> tuple[Path, ...]:
        """Create the missing parents of a path; return the directories that get a new entry."""
        changed = [path.parent]
        for parent in path.parents:
            if parent.is_dir():
                break
            changed.append(parent.parent)
        path.parent.mkdir(parents=True, exist_ok=True)
        return tuple(changed)

    @contextmanager
    def _unfinished(self, data: bytes) -> Iterator[Path]:
        """Write a temporary file and hold a lock on it.

        Yields the path of the complete file, and removes the file on exit. The lock shows other
        processes that the writer still runs.
        """
        aside = self._root / _UNFINISHED
        aside.mkdir(exist_ok=True)
        if not self._swept:
            self._swept = True
            _remove_abandoned(aside)
        file, path = _locked_file(aside)
        try:
            with file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                yield path
        finally:
            path.unlink(missing_ok=True)

    def _failed(self, action: str, name: str, error: OSError) -> StoreError:
        return StoreError(
            f"cannot {action} object {name!r} in {self._root}: {error}",
            hint="Check the permissions of the directory and the free space of the disk.",
        )


def _walk(directory: Path, base: str, prefix: str) -> Iterator[str]:
    """Yield names below a directory in sorted order, without symbolic links.

    Args:
        directory: The directory to list.
        base: The path of the directory from the root, with a slash at its end; empty for the root.
        prefix: The prefix of the object names to yield.
    """
    try:
        entries = [entry for entry in os.scandir(directory) if not entry.is_symlink()]
        names = sorted(f"{base}{entry.name}{'/' * entry.is_dir()}" for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise StoreError(f"cannot list {directory}: {error}") from error
    for name in names:
        if name.startswith(f"{base}."):
            continue
        if name.endswith("/") and (name.startswith(prefix) or prefix.startswith(name)):
            yield from _walk(directory / name[len(base) : -1], name, prefix)
        elif not name.endswith("/") and name.startswith(prefix):
            yield name


def _locked_file(aside: Path) -> tuple[IO[bytes], Path]:
    """Create and lock a new file in the directory `aside`; return the open file and its path.

    Retries if another process removed the file before it was locked.
    """
    while True:
        number, name = tempfile.mkstemp(dir=aside)
        file = os.fdopen(number, "wb")
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(number).st_nlink:
            return file, Path(name)
        file.close()


def _remove_abandoned(aside: Path) -> None:
    """Remove the temporary files of killed writers from the directory `aside`."""
    for path in aside.iterdir():
        try:
            with path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)
        except (FileNotFoundError, BlockingIOError):
            continue


def _sync_directory(directory: Path) -> None:
    number = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
