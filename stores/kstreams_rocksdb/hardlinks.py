"""Copies of closed databases that share data files by hard links.

RocksDB never changes a written data file; it only adds and deletes files. So a version is branched
by linking the data files, and copying the few small files that do change.
"""

from __future__ import annotations

import errno
import os
import shutil
from hashlib import sha256
from pathlib import Path

__all__ = ("branch", "is_closed", "mark_closed", "mark_open")

_CLOSED = "CLOSED"
_LINKED = (".sst", ".blob")
_COPIED = ("MANIFEST-", "CURRENT", "IDENTITY", "rocksdict-config.json")
_NO_LINKS = {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP}


def mark_closed(directory: Path) -> None:
    """Mark a database as complete: closed, with no data left in memory.

    The mark has a digest of data that RocksDB does not check at opening: without it, RocksDB would
    open a manifest that a power failure has truncated, and show an older state.
    """
    (directory / _CLOSED).write_text(_digest(directory))


def mark_open(directory: Path) -> None:
    """Remove the mark of `mark_closed`; the database of a killed process has no mark."""
    (directory / _CLOSED).unlink(missing_ok=True)


def is_closed(directory: Path) -> bool:
    """Return whether a database is complete and unchanged since it was closed."""
    try:
        return (directory / _CLOSED).read_text() == _digest(directory)
    except FileNotFoundError:
        return False


def branch(source: Path, target: Path) -> bool:
    """Link or copy the files of a closed database.

    Returns:
        True; or False, without a target, if the source is not closed, has changed since it was
        closed, or disappears meanwhile.

    Raises:
        OSError: The disk is full, or cannot be written.
    """
    try:
        closed = (source / _CLOSED).read_text()
        if closed != _digest(source):
            return False
        target.mkdir(parents=True, exist_ok=True)
        for entry in os.scandir(source):
            _take(entry, target / entry.name)
        (target / _CLOSED).write_text(closed)
    except FileNotFoundError:
        shutil.rmtree(target, ignore_errors=True)
        return False
    except OSError:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return True


def _digest(directory: Path) -> str:
    """Return a digest of the contents of the small files and the sizes of the data files."""
    digest = sha256()
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        if entry.name.endswith(_LINKED):
            digest.update(f"{entry.name} {entry.stat().st_size}\n".encode())
        elif entry.name.startswith(_COPIED):
            content = Path(entry.path).read_bytes()
            digest.update(f"{entry.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _take(entry: os.DirEntry[str], target: Path) -> None:
    if entry.name.endswith(_LINKED):
        try:
            os.link(entry.path, target)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            shutil.copyfile(entry.path, target)
    elif entry.name.startswith(_COPIED):
        shutil.copyfile(entry.path, target)
