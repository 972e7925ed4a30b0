"""Copies of tables that all workers of a machine share.

    <table>/lock               held shared to open a copy, exclusively to make or remove one
    <table>/<version>          a complete copy of the backend, which is never written again
    <table>/<version>.json     the version of each partition of the copy
    <table>/.<name>            a copy under construction; if no process holds the lock, a leftover

The first worker that needs a version makes hard links to the previous copy, applies newer changes,
and renames the result; other workers open this copy. Two copies of a table are kept.
"""

from __future__ import annotations

import fcntl
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from kstreams.errors import StoreError, StoreOpenError
from kstreams.global_tables.copied_rows import Marks, advance, marks_of
from kstreams.global_tables.table_version import TablePlace, TableVersion
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.backend.working import SharesVersions, WorkingStore
from kstreams.state.log.durable import DurableLog
from kstreams.state.versions.private import make_private

__all__ = ("HostCopies",)

_LOG = logging.getLogger(__name__)
_ATTEMPTS = 3
_OTHERS_KEPT = 1


class HostCopies:
    """The copies of one table on this machine; several processes may use them at once.

    Args:
        home: A directory that only this user can access.
        place: The storage location of the table.
        backend: The backend of the copies.
    """

    def __init__(self, home: Path, place: TablePlace, backend: SharesVersions) -> None:
        table = f"{place.log_name} {place.group} {place.store}"
        self._home = home / sha256(table.encode()).hexdigest()[:32]
        self._backend = backend
        self._stores = [place.store]

    def open(self, version: TableVersion, log_of: Callable[[TaskKey], DurableLog]) -> WorkingStore:
        """Open a version for reading, after creating its copy if no other worker has done so.

        Args:
            version: The table version to open.
            log_of: Opens the durable log of a task.

        Raises:
            StateCorruptError: An object of the version is missing in the log or damaged.
            StoreOpenError: The local disk is full or cannot be written.
        """
        try:
            make_private(self._home)
        except OSError as error:
            raise StoreOpenError(
                f"cannot keep a copy of a global table in {self._home}: {error}",
                hint="give the backend a directory that is writable and has free space.",
            ) from error
        directory = self._home / version.name
        for attempt in range(_ATTEMPTS):
            with self._lock(fcntl.LOCK_SH):
                try:
                    if directory.is_dir():
                        return self._backend.open_shared(directory, self._stores)
                except StoreOpenError:
                    if attempt == _ATTEMPTS - 1:
                        raise
                    _LOG.warning("%s is of no use, and is made again", directory)
                    broken = True
                else:
                    broken = False
            with self._lock(fcntl.LOCK_EX):
                if broken:
                    self._backend.remove(directory)
                if not directory.is_dir():
                    self._make(version, directory, log_of)
        raise StoreOpenError(
            f"the copy of a global table in {directory} was deleted repeatedly before its use",
            hint="check that no other program deletes files there.",
        )

    @contextmanager
    def _lock(self, kind: int) -> Iterator[None]:
        with (self._home / "lock").open("ab") as lock:
            fcntl.flock(lock, kind)
            yield

    def _make(
        self, version: TableVersion, directory: Path, log_of: Callable[[TaskKey], DurableLog]
    ) -> None:
        draft = self._home / f".{uuid4().hex}"
        try:
            marks = self._begin(draft, version.name)
            store = self._backend.open(draft, self._stores)
            try:
                advance(store, version, marks, log_of)
            finally:
                store.close()
            (self._home / f"{version.name}.json").write_text(json.dumps(marks_of(version)))
            draft.rename(directory)
        except BaseException:
            with suppress(StoreError):
                self._backend.remove(draft)
            raise
        self._sweep(version.name)

    def _begin(self, draft: Path, name: str) -> Marks:
        """Create a copy at `draft` from the newest usable copy before `name`, by hard links.

        Returns:
            The version of each partition of the new copy; empty if there is no usable copy.
        """
        for before in reversed([other for other in self._names() if other < name]):
            try:
                marks = [
                    (int(number), str(version_id))
                    for number, version_id in json.loads(
                        (self._home / f"{before}.json").read_text()
                    )
                ]
            except (OSError, ValueError, TypeError):
                continue
            if self._backend.branch(self._home / before, draft):
                return marks
        return []

    def _names(self) -> list[str]:
        return sorted(
            path.name
            for path in self._home.iterdir()
            if path.is_dir() and not path.name.startswith(".")
        )

    def _sweep(self, made: str) -> None:
        """Remove incomplete copies, and all complete ones but `made` and the newest other one."""
        others = [name for name in self._names() if name != made]
        drafts = [path.name for path in self._home.glob(".*") if path.is_dir()]
        for name in (*others[:-_OTHERS_KEPT], *drafts):
            try:
                self._backend.remove(self._home / name)
                (self._home / f"{name}.json").unlink(missing_ok=True)
            except (StoreError, OSError) as error:
                _LOG.warning("cannot remove a copy of a table, trying again later: %s", error)
