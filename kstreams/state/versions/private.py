"""Private directories of this user, below a directory that others may share.

A path with a guessable name in a shared temporary directory may belong to another user, or may be a
link to anywhere. So each directory is created for this user only, opened without following links,
and checked after it is open.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from kstreams.errors import ForeignDirectoryError

__all__ = ("make_private", "private_directory")

_LOG = logging.getLogger(__name__)
_MODE = 0o700
_WRITE_OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_private(path: Path) -> None:
    """Create a directory and its missing parents for this user only; it may exist."""
    try:
        path.mkdir(mode=_MODE)
    except FileExistsError:
        return
    except FileNotFoundError:
        make_private(path.parent)
        with suppress(FileExistsError):
            path.mkdir(mode=_MODE)


def private_directory(base: Path, *steps: str) -> Path:
    """Return a directory below `base`, after checking that each step is private to this user.

    Missing steps are created with mode 700. Write access of others is removed, and a last step that
    others could write to is moved aside unread.

    Args:
        base: A directory that others may share; used without checks, created if missing.
        steps: The names of directories, each in the previous one.

    Raises:
        ForeignDirectoryError: A step belongs to another user, or is a link or not a directory.
        OSError: The file system rejects the access.
    """
    make_private(base)
    above = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    path = base
    try:
        for number, step in enumerate(steps, 1):
            path /= step
            found = _own(above, step, path, last=number == len(steps))
            os.close(above)
            above = found
    finally:
        os.close(above)
    return path


def _own(above: int, step: str, path: Path, *, last: bool) -> int:
    """Open a directory, after creating it if missing, and make it private to this user.

    Args:
        above: The file descriptor of the parent directory.
        step: The name of the directory in its parent.
        path: The path of the directory, for messages.
        last: Whether the directory is the last one of `private_directory`. Others must not be able
            to read it, and it is replaced by an empty one if they could write to it.

    Returns:
        The file descriptor of the directory.

    Raises:
        ForeignDirectoryError: The directory belongs to another user, or is a link.
    """
    found = _opened(above, step, path)
    mode = os.fstat(found).st_mode
    if last and mode & _WRITE_OF_OTHERS:
        os.close(found)
        _set_aside(above, step, path)
        found = _opened(above, step, path)
    elif last and stat.S_IMODE(mode) != _MODE:
        os.fchmod(found, _MODE)
    elif mode & _WRITE_OF_OTHERS:
        os.fchmod(found, stat.S_IMODE(mode) & ~_WRITE_OF_OTHERS)
    return found


def _opened(above: int, step: str, path: Path) -> int:
    with suppress(FileExistsError):
        os.mkdir(step, _MODE, dir_fd=above)
    try:
        found = os.open(step, _OPEN, dir_fd=above)
    except PermissionError:
        raise ForeignDirectoryError(path, "this user has no permission to read it") from None
    except OSError as exc:
        if stat.S_ISDIR(os.stat(step, dir_fd=above, follow_symlinks=False).st_mode):
            raise
        raise ForeignDirectoryError(path, "it is a symbolic link, or not a directory") from exc
    owner = os.fstat(found).st_uid
    if owner != os.geteuid():
        os.close(found)
        raise ForeignDirectoryError(path, f"it belongs to user {owner}, not to {os.geteuid()}")
    return found


def _set_aside(above: int, step: str, path: Path) -> None:
    """Replace a directory that others could write to by an empty one; only one process does so.

    The arguments are those of `_own`.
    """
    fcntl.flock(above, fcntl.LOCK_EX)
    try:
        found = os.stat(step, dir_fd=above, follow_symlinks=False)
        if not found.st_mode & _WRITE_OF_OTHERS:
            return
        aside = f".{step}.{uuid4().hex}"
        os.rename(step, aside, src_dir_fd=above, dst_dir_fd=above)
        os.mkdir(step, _MODE, dir_fd=above)
    finally:
        fcntl.flock(above, fcntl.LOCK_UN)
    _LOG.warning("others could write to %s: local state is restored, not taken from there", path)
    shutil.rmtree(path.with_name(aside), ignore_errors=True)
