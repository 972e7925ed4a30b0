"""The versions of one task's state on a worker's disk.

    attempts/<name>   directory of a backend: a running attempt, or a version
    locks/<name>      locked by the process that runs the attempt, while it runs
    versions/<version>-<id>        link to the attempt that created the version; or
                                   `<name>@<version>`, an earlier version to which the
                                   deltas after it must be applied

All these directories are in a directory that only the user may access (`open_local_home`): anyone
with write access could plant state. After an attempt is closed, the link makes it a version
atomically. Directories without a link or a lock belong to a dead process, and are removed.
"""

from __future__ import annotations

import fcntl
import logging
import os
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kstreams.errors import StoreError, StoreOpenError
from kstreams.state.backend.task_key import app_prefix
from kstreams.state.backend.working import StateBackend
from kstreams.state.versions.private import make_private, private_directory

__all__ = ("LocalAttempt", "LocalVersions", "local_home", "local_parts", "open_local_home")

_VERSION_ID_CHARS = 32
_BASED_ON = "@"
_LOG = logging.getLogger(__name__)


def local_home(backend: StateBackend | None, app: str, checkpoint_id: str) -> Path:
    """Return the directory of an app's working copies on this machine, for one checkpoint id.

    Args:
        backend: The backend, whose `directory` is the parent; without one, a private directory in
            the temporary directory is the parent.
        app: The app id.
        checkpoint_id: The checkpoint id.
    """
    base, steps = _home(backend, app, checkpoint_id)
    return base.joinpath(*steps)


def open_local_home(backend: StateBackend, app: str, checkpoint_id: str) -> Path:
    """Return the `local_home`, after checking that it is private to this user.

    Raises:
        ForeignDirectoryError: Another user can access the directory.
        StoreOpenError: The directory cannot be created or opened.
    """
    base, steps = _home(backend, app, checkpoint_id)
    try:
        return private_directory(base, *steps)
    except StoreOpenError:
        raise
    except OSError as error:
        raise _unusable(base.joinpath(*steps), error) from error


def local_parts(home: Path, app: str, checkpoint_id: str) -> tuple[Path, ...]:
    """Return the directories in `home` that belong to a checkpoint id, which is in their names.

    Symbolic links are not included. The result is empty if `home` belongs to another user.
    """
    mark = app_prefix(f"{app}.{checkpoint_id}.").removesuffix("/")
    for directory in (home.parent, home):
        try:
            found = directory.lstat()
        except FileNotFoundError:
            return ()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return ()
    entries = sorted(os.scandir(home), key=lambda entry: entry.name)
    return tuple(
        Path(entry.path)
        for entry in entries
        if entry.name.startswith(mark) and entry.is_dir(follow_symlinks=False)
    )


def _home(
    backend: StateBackend | None, app: str, checkpoint_id: str
) -> tuple[Path, tuple[str, ...]]:
    """Return a shared parent directory, and the names of the private directories below it."""
    named = None if backend is None else backend.directory
    if named:
        return Path(named), (app, checkpoint_id)
    return Path(tempfile.gettempdir()), (f"kstreams-{os.getuid()}", app, checkpoint_id)


def _unusable(home: Path, error: OSError) -> StoreOpenError:
    return StoreOpenError(
        f"cannot use {home} for local state: {error}",
        hint="Give the state backend a writable directory with free space.",
    )


class LocalAttempt:
    """The directory of a running attempt, and its lock.

    The lock ends with the process or this object. An attempt without files has no lock yet
    (`LocalVersions.lock`).
    """

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.directory = directory
        self._close_lock: Callable[[], object] | None = None

    def hold(self, lock: int) -> None:
        """Take over the file descriptor of the directory's lock."""
        self._close_lock = weakref.finalize(self, os.close, lock)

    def release(self) -> None:
        """Release the lock of the directory, if it is locked."""
        if self._close_lock is not None:
            self._close_lock()


class LocalVersions:
    """Publishes, finds and removes local versions; safe for several processes at once."""

    def __init__(self, home: Path, backend: StateBackend) -> None:
        self.home = home
        self._backend = backend
        self._attempts = home / "attempts"
        self._locks = home / "locks"
        self._versions = home / "versions"

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Lock this task's directory against other processes and threads, briefly."""
        try:
            for directory in (self._attempts, self._locks, self._versions):
                make_private(directory)
            lock = (self.home / "lock").open("wb")
        except OSError as error:
            raise _unusable(self.home, error) from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def attempt(self, name: str) -> LocalAttempt:
        """Return an attempt without files; call `lock` before its first file is written."""
        return LocalAttempt(name, self._attempts / name)

    def begin(self, name: str) -> LocalAttempt:
        """Lock a new directory for an attempt; call within `exclusive`.

        Raises:
            StoreError: The name is in use, or the disk is full or cannot be written.
        """
        attempt = self.attempt(name)
        self.lock(attempt)
        return attempt

    def lock(self, attempt: LocalAttempt) -> None:
        """Lock the new directory of an attempt; call within `exclusive`.

        Raises:
            StoreError: The name is in use, or the disk is full or cannot be written.
        """
        name = attempt.name
        if (self._locks / name).exists() or (self._attempts / name).exists():
            raise StoreError(
                f"attempt {name!r} has already begun in {self.home}",
                hint="Name each attempt with new_attempt(): two attempts had the same name.",
            )
        try:
            lock = os.open(self._locks / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except OSError as error:
            raise StoreOpenError(
                f"cannot begin an attempt in {self.home}: {error}",
                hint="Give the state backend a writable directory with free space.",
            ) from error
        fcntl.flock(lock, fcntl.LOCK_EX)
        attempt.hold(lock)

    def find(self, version: int, version_id: str) -> Path | None:
        """Return the directory of a version, or None if this machine does not have the version."""
        directory, based_on = self._linked(version, version_id)
        return directory if based_on is None else None

    def find_base(self, version: int, version_id: str) -> tuple[Path, int] | None:
        """Return the directory and number of the earlier version that is recorded as a base.

        Returns None if no base is recorded for the version.
        """
        directory, based_on = self._linked(version, version_id)
        return None if directory is None or based_on is None else (directory, based_on)

    def _linked(self, version: int, version_id: str) -> tuple[Path | None, int | None]:
        try:
            text = self._link(version, version_id).readlink().name
        except FileNotFoundError:
            return None, None
        name, _, based_on = text.partition(_BASED_ON)
        directory = self._attempts / name
        if not directory.is_dir() or directory.is_symlink():
            return None, None
        return directory, int(based_on) if based_on else None

    def publish(self, version: int, version_id: str, attempt: LocalAttempt) -> None:
        """Publish a closed attempt as a version; call within `exclusive`.

        Raises:
            StoreError: The disk is full or cannot be written; the version was not published.
        """
        self._name(version, version_id, attempt, attempt.name)
        self._end(attempt)

    def publish_base(
        self, version: int, version_id: str, attempt: LocalAttempt, base: tuple[str, int]
    ) -> None:
        """Record the base of a version that is only in memory; call within `exclusive`.

        Args:
            version: The number of the version.
            version_id: The version id of the version.
            attempt: The attempt that has the version in memory and continues.
            base: The attempt that created the earlier version, and the number of that version.

        Raises:
            StoreError: The disk is full or cannot be written; the base was not recorded.
        """
        name, number = base
        self._name(version, version_id, attempt, f"{name}{_BASED_ON}{number}")

    def _name(self, version: int, version_id: str, attempt: LocalAttempt, target: str) -> None:
        link = self._link(version, version_id)
        fresh = link.with_name(f".{attempt.name}")
        try:
            fresh.symlink_to(target)
            fresh.replace(link)
        except OSError as error:
            raise StoreError(
                f"cannot link version {version} in {self.home}: {error}",
                hint="Give the state backend a writable directory with free space.",
            ) from error

    def forget(self, version: int, version_id: str) -> None:
        """Remove the link of a version; call within `exclusive`."""
        self._link(version, version_id).unlink(missing_ok=True)

    def discard(self, attempt: LocalAttempt) -> None:
        """Remove an attempt that has been closed.

        Raises:
            StoreError: The attempt cannot be removed; a later `sweep` retries.
        """
        try:
            self._backend.remove(attempt.directory)
        except BaseException:
            attempt.release()
            raise
        self._end(attempt)

    def sweep(self, oldest: int, newest: int) -> None:
        """Remove the versions before `oldest` or after `newest`, and files of ended attempts."""
        with self.exclusive():
            named = set()
            for link in self._versions.iterdir():
                if oldest <= _version_of(link.name) <= newest:
                    named.add(link.readlink().name.partition(_BASED_ON)[0])
                else:
                    link.unlink()
            names = {path.name for kind in (self._attempts, self._locks) for path in kind.iterdir()}
            dead = [name for name in sorted(names - named) if not self._is_alive(name)]
        for name in dead:
            try:
                self._backend.remove(self._attempts / name)
                (self._locks / name).unlink(missing_ok=True)
            except (StoreError, OSError) as error:
                _LOG.warning("cannot clean up local state, trying again later: %s", error)

    def _is_alive(self, name: str) -> bool:
        try:
            with (self._locks / name).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def _end(self, attempt: LocalAttempt) -> None:
        (self._locks / attempt.name).unlink(missing_ok=True)
        attempt.release()

    def _link(self, version: int, version_id: str) -> Path:
        return self._versions / f"{version:020d}-{version_id[:_VERSION_ID_CHARS]}"


def _version_of(name: str) -> int:
    number, _, _ = name.partition("-")
    return int(number) if number.isdigit() else -1
