"""Reads of a view at its current version, which can move to newer versions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeVar

from typing_extensions import Self

from kstreams._types import K
from kstreams.clock import SystemClock, steady_ms, to_ms
from kstreams.errors import ExecutionError, Where
from kstreams.state.stores.readable import Holds
from kstreams.state.stores.spec import StoreSpec
from kstreams.views.commit_callbacks import Following
from kstreams.views.named_reads import NamedReads
from kstreams.views.pinned import Pinned
from kstreams.views.row_changes import RowChanges, VersionSteps, check_reports_rows
from kstreams.views.version_reader import VersionReader

__all__ = ("MovingReader", "VersionedReads")

S_co = TypeVar("S_co", covariant=True)
"""The live type of a store."""
T = TypeVar("T")
"""Type of the result of the method `get` of the store."""

_POLL = timedelta(milliseconds=100)
_PAUSE_S = 0.02
_MACHINE = SystemClock()


class MovingReader(VersionReader[S_co], Protocol[S_co]):
    """A `VersionReader` whose current version can advance to a newer version."""

    @property
    def version(self) -> int | None:
        """The batch of the current version; None before the first commit."""
        ...

    @property
    def wall_ms(self) -> int | None:
        """The commit time of the current version by the app's clock, ms since the epoch.

        None before the first commit.
        """
        ...

    def versions(self) -> list[int]:
        """Return the batches whose versions are retained, ascending."""
        ...

    def refresh(self) -> int | None:
        """Move to the newest version; return its number. An open iteration prevents the move."""
        ...

    def recovered(self) -> bool:
        """Return whether all partitions are ready at the newest version, or at that of `as_of`."""
        ...

    def recover(self, until_ms: int | None) -> bool:
        """Make all partitions ready at the newest version, and return whether they are.

        Args:
            until_ms: The time of the monotonic clock, ms, after which no further partition is
                restored; None: no limit.
        """
        ...

    def evict(self, partitions: Sequence[int], remove: Callable[[S_co], object]) -> None:
        """Remove rows from the working copies of partitions.

        Args:
            partitions: The partitions.
            remove: Called with each live store; deletes the rows.

        Raises:
            StoreError: The view has no working copies.
        """
        ...

    def hold(self) -> Pinned[Any]:
        """Return the current version, with all partitions ready.

        The version stays readable while it is referenced.

        Raises:
            StoreError: The view has no working copies.
        """
        ...

    def close(self) -> None:
        """Release resources; a second call does nothing."""
        ...


class VersionedReads(NamedReads[S_co], Generic[S_co]):
    """The methods of a view that concern its version; a context manager that closes the view.

    Args:
        spec: The definition of the store.
        versions: Reads the store at its versions.
    """

    def __init__(self, spec: StoreSpec[S_co], versions: MovingReader[S_co]) -> None:
        super().__init__(spec, versions)
        self._versions = versions

    @property
    def version(self) -> int | None:
        """The batch of the view's current version; None before the app's first commit."""
        return self._versions.version

    @property
    def wall_ms(self) -> int | None:
        """The commit time of the view's version by the app's clock, ms since the epoch.

        None before the app's first commit.
        """
        return self._versions.wall_ms

    def versions(self) -> list[int]:
        """Return the batches whose versions are retained, ascending."""
        return self._versions.versions()

    def refresh(self) -> int | None:
        """Move to the newest version; return its number. An open iteration prevents the move."""
        return self._versions.refresh()

    def follow(self, callback: Callable[[int], None], *, poll: timedelta = _POLL) -> Following:
        """Call a function with the current version and after each commit, in a separate thread.

        If commits are faster than the callback, it is called only with the newest version. Reads
        inside the callback see that version or a newer version.

        Args:
            callback: Called with the version.
            poll: Interval between two refreshes.

        Returns:
            A `Following`. Its `close()`, or the end of a `with` block, stops the callbacks, and
            raises an `ExecutionError` if the callback or a read has failed.
        """
        return Following(self.refresh, callback, poll)

    def follow_rows(
        self: VersionedReads[Holds[K, T]],
        callback: Callable[[RowChanges[K, T]], None],
        *,
        poll: timedelta = _POLL,
    ) -> Following:
        """Call a function with the changed rows of each new version, in a separate thread.

        The first call has all rows. Versions that come faster than the callback returns are merged:
        then `old` is the value of the previous callback. Each changed row costs two point reads; no
        other rows are read. Rows hidden by a key's time to live are reported when the app deletes
        them. Evicted keys are not reported.

        Args:
            callback: Called with the `RowChanges` of a version; iterate over the changes inside the
                callback.
            poll: Interval between two refreshes.

        Returns:
            A `Following`. Its `close()`, or the end of a `with` block, stops the callbacks, and
            raises an `ExecutionError` if the callback or a read has failed.

        Raises:
            StoreKindError: Stores of this kind do not report rows, for example window stores.
            StoreError: The view is remote: it has no working copies to compare.

        Source: goka's `WithViewCallback`.
        """
        check_reports_rows(self.spec.kind)
        steps = VersionSteps(self.spec, self._versions.hold)
        self._versions.hold()

        def call(_: int) -> None:
            changes: RowChanges[K, T] | None = steps.next(lambda store, key: store.get(key))
            if changes is not None:
                callback(changes)

        return Following(self.refresh, call, poll)

    def evict(self: VersionedReads[Holds[K, object]], key: K) -> None:
        """Remove a key from the view's working copy; the app's state does not change.

        Reads of this view find nothing for the key from then on, until a commit writes the key
        again. The key may reappear earlier if the copy is restored: after an upgrade of the app, or
        if the app merged deltas that the view had not read. An open iteration stays at its version
        and still yields the key.

        Args:
            key: The key, as for `get`.

        Raises:
            StoreKindError: Keys of stores of this kind cannot be evicted.
            StoreError: The view is remote: it has no working copy.

        Source: goka's `View.Evict`.
        """
        kind = self.spec.kind
        partitions = self._reader.partitions_of(kind.routed_by(key))
        self._versions.evict(partitions, lambda store: kind.evict(store, key))

    @property
    def recovered(self) -> bool:
        """Whether the view has caught up: all partitions are ready at the newest commit.

        With `as_of`, all partitions must be ready at that version instead. Partitions become ready
        at their first read, or by `wait_recovered`. A remote view reports the server's view.

        Source: goka's `View.Recovered`.
        """
        return self._versions.recovered()

    def wait_recovered(self, timeout: timedelta | None = None) -> None:
        """Restore all partitions, and return when the view has caught up with the newest commit.

        Args:
            timeout: Maximum time to wait; None: no limit. The time is checked between
                partitions.

        Raises:
            ExecutionError: The timeout passed before the view had caught up.
        """
        until_ms = None if timeout is None else steady_ms(_MACHINE) + to_ms(timeout)
        while not self._versions.recover(until_ms):
            if until_ms is not None and steady_ms(_MACHINE) >= until_ms:
                raise ExecutionError(
                    f"the view of store {self.spec.name!r} has not caught up within {timeout}",
                    hint="give a longer timeout=; open iterations keep the view at its version.",
                    where=Where(store=self.spec.name),
                )
            time.sleep(_PAUSE_S)

    def close(self) -> None:
        """Close connections and delete working copies; a second call does nothing."""
        self._versions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
