"""The sources of a global table's versions: a query of this app, or another app."""

from __future__ import annotations

from typing import Any, Protocol

from kstreams.checkpoint.planning.global_table_pins import Pin
from kstreams.checkpoint.savepoint.store_place import StorePlace
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.errors import ObjectMissingError, VersionGoneError, Where
from kstreams.global_tables.open_tables import REPIN_HINT
from kstreams.global_tables.table_version import TablePlace, TableVersion
from kstreams.partitioner import Partitioner
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.log.commits import Commit, CommitLog
from kstreams.state.stores.spec import StoreSpec

__all__ = ("AppTableSource", "OwnTableSource", "TableSource")


class TableSource(Protocol):
    """Returns versions of a global table."""

    def newest(self) -> Pin:
        """Return the newest version.

        Raises:
            NoCheckpointError: The app that writes the table has no checkpoint any more.
            CheckpointMismatchError: The app does not have the table any more.
        """
        ...

    def at(self, pin: Pin) -> TableVersion:
        """Return a pinned version.

        Raises:
            VersionGoneError: The version is not retained any more.
        """
        ...


class OwnTableSource:
    """A table that a query of this app writes.

    Args:
        place: The storage location of the table.
        commits: The commit log of the query.
        last: The last commit of the query; None before the first commit.
    """

    def __init__(self, place: TablePlace, commits: CommitLog, last: Commit | None) -> None:
        self._place = place
        self._commits = commits
        self._last = last

    def committed(self, commit: Commit) -> None:
        """Record a commit of the query, whose version of the table is then the newest one."""
        self._last = commit

    def newest(self) -> Pin:
        """Return the newest version."""
        return Pin(self._place.log_name, None if self._last is None else self._last.id)

    def at(self, pin: Pin) -> TableVersion:
        """Return a version; see `TableSource`."""
        if pin.log_name != self._place.log_name:
            raise _version_gone(
                self._place.store, pin, "the app was upgraded after the batch was planned"
            )
        if pin.commit is None:
            return TableVersion.of(self._place, None)
        if self._last is not None and self._last.id == pin.commit:
            return TableVersion.of(self._place, self._last)
        return TableVersion.of(self._place, _commit(self._commits, self._place.store, pin))


class AppTableSource:
    """A table of another app, read from that app's checkpoint.

    Args:
        home: The storage of the app's checkpoint.
        log: The app's durable log, if it is not in the checkpoint.
        spec: The app's own definition of the store.
        partitioner: The partitioner of the table's keys; None if it is not known.

    Raises:
        NoCheckpointError: There is no checkpoint.
        CheckpointMismatchError: The checkpoint has no such store, or another definition of it.
    """

    def __init__(
        self,
        home: CheckpointHome,
        log: ObjectStoreSettings | None,
        spec: StoreSpec[Any],
        partitioner: Partitioner | None,
    ) -> None:
        self._home = home
        self._log = log
        self._spec = spec
        self._partitioner = partitioner
        self._found = StorePlace.find(home, log, spec)
        self._last: Commit | None = None

    def newest(self) -> Pin:
        """Return the newest version; see `TableSource`."""
        if self._home.stamp() != self._found.stamp:
            self._found = StorePlace.find(self._home, self._log, self._spec)
            self._last = None
        found = self._found
        commits = found.checkpoint.commits(found.query, found.objects)
        batches = commits.batches()
        if batches and (self._last is None or self._last.batch != batches[-1]):
            self._last = commits.last()
        last = self._last if batches else None
        return Pin(found.checkpoint.log_name(found.query), None if last is None else last.id)

    def at(self, pin: Pin) -> TableVersion:
        """Return a version; see `TableSource`."""
        found, place = self._found, self._place()
        if pin.log_name != place.log_name:
            raise _version_gone(
                place.store, pin, "the app that writes the table was reset or upgraded"
            )
        if pin.commit is None:
            return TableVersion.of(place, None)
        if self._last is None or self._last.id != pin.commit:
            commits = found.checkpoint.commits(found.query, found.objects)
            self._last = _commit(commits, place.store, pin)
        return TableVersion.of(place, self._last)

    def _place(self) -> TablePlace:
        found = self._found
        return TablePlace(
            self._spec.name,
            found.checkpoint.log_name(found.query),
            self._log or found.checkpoint.log,
            found.checkpoint.state_name(found.query),
            found.group,
            found.partitions,
            found.partitioner(self._partitioner),
        )


def _commit(commits: CommitLog, store: str, pin: Pin) -> Commit:
    assert pin.commit is not None  # noqa: S101  # the callers have asked
    try:
        commit = commits.at(pin.commit.batch)
    except ObjectMissingError as exc:
        raise _version_gone(store, pin, "the commit of this version is no longer retained") from exc
    if commit.id != pin.commit:
        raise _version_gone(store, pin, "the durable log has another commit of this batch")
    return commit


def _version_gone(store: str, pin: Pin, why: str) -> VersionGoneError:
    return VersionGoneError(
        f"the version of global table {store!r} that the batch reads, {pin}, is gone: {why}",
        hint=REPIN_HINT,
        where=Where(store=store),
    )
