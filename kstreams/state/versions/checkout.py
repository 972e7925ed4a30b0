"""One attempt's copy of a task's state, from its opening to its commit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any

from kstreams.errors import StoreError
from kstreams.state.backend.working import Changes, CopiesVersions, StateBackend, WorkingStore
from kstreams.state.log.delta import DIGEST_BYTES
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.packs import Packs
from kstreams.state.log.pointer import ObjectRef, Pointer
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.log.uploads import ObjectUpload, Upload
from kstreams.state.versions.background import BackgroundUpkeep, VersionCopy
from kstreams.state.versions.local import LocalAttempt, LocalVersions
from kstreams.state.versions.open_versions import OpenVersion, OpenVersions

__all__ = ("AttemptResources", "Checkout")

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class AttemptResources:
    """The resources of an attempt: its directory, its task's local versions, and the durable log.

    Attributes:
        versions: The versions of the task on this worker.
        directory: The directory of the attempt.
        log: The durable log.
        upkeep: The settings for merging deltas and creating snapshots.
        backend: The backend of the working store.
        background: The background upkeep; None leaves upkeep to commits.
        open_versions: The versions that stay open for the next batch; None closes all versions.
        packs: The packs of the batch for small deltas; None gives each delta its own object.
    """

    versions: LocalVersions
    directory: LocalAttempt
    log: DurableLog
    upkeep: Upkeep
    backend: StateBackend
    background: BackgroundUpkeep | None = None
    open_versions: OpenVersions | None = None
    packs: Packs | None = None


class Checkout:
    """An open attempt, created by `TaskVersions.checkout`.

    As a context manager, it aborts the attempt on exit unless the attempt was committed.

    Attributes:
        store: The working store, at exactly the pointer's version, read-only.
        pointer: The version of the checkout.
        attempt: The attempt.
        warm: Whether the store was copied from a local version instead of restored.
    """

    def __init__(
        self,
        resources: AttemptResources,
        store: WorkingStore,
        pointer: Pointer,
        attempt: Attempt,
        *,
        warm: bool,
        kept: OpenVersion | None = None,
    ) -> None:
        reads = self._reads = None if kept is None else kept.reads()
        self.store: WorkingStore = reads or store
        self.pointer = pointer
        self.attempt = attempt
        self.warm = warm
        self._resources = resources
        self._base = store
        self._kept = kept  # None where it is closed in any case
        can_copy = isinstance(resources.backend, CopiesVersions)  # else commits do the upkeep
        self._background = resources.background if can_copy else None
        self._ended = False
        self._uploads: list[Upload] = []  # of the delta, and of the results of upkeep
        self._snapshot_due = False  # whether to write a snapshot in the background
        self._merger_due: tuple[ObjectRef, ...] = ()
        self._copy: VersionCopy | None = None  # of a version that stays open, for the snapshot
        self._begin_durable_upkeep: Callable[[], None] | None = None  # needs a durable delta

    def commit(self, changes: Changes, meta: Mapping[str, Any]) -> Pointer:
        """Commit changes and return the new version when it is durable; see `begin_commit`.

        Raises:
            StoreError: The write failed; the version of the checkout stays valid.
        """
        pointer = self.begin_commit(changes, meta)
        self.settle()
        return pointer

    def begin_commit(self, changes: Changes, meta: Mapping[str, Any]) -> Pointer:
        """Start to write changes durably, end the attempt's reads, and return the new version.

        The version of a small batch may stay open, without a write to the local disk. The version
        is valid when the driver's commit log has its pointer; other attempts may create other
        versions. Send the pointer to the driver only after `settle`. Without changes nothing is
        written, and the version stays the same.

        Args:
            changes: The deletions and puts, by store.
            meta: The state of the task besides its stores: a JSON object.

        Raises:
            StoreError: The write failed; the attempt is discarded, and the version of the checkout
                stays valid.
        """
        if self._ended:
            raise StoreError(f"cannot commit: attempt {self.attempt.name!r} has ended already")
        changes = {store: changed for store, changed in changes.items() if changed}
        if not changes:
            self.abort()
            return self.pointer.with_meta(meta)
        self._ended = True
        try:
            pointer, keeps = self._write(changes)
            if not keeps:
                self._publish(pointer)
        except BaseException:
            self._discard()
            raise
        self._begin_durable_upkeep = partial(self._begin_upkeep, pointer, keeps=keeps)
        return pointer.with_meta(meta)

    def settle(self) -> None:
        """Wait until the commit is durable, then start background upkeep if it is due.

        Raises:
            StoreError: The write failed; the version of the checkout stays valid.
        """
        begin, self._begin_durable_upkeep = self._begin_durable_upkeep, None
        self._await_uploads()
        if begin is not None:
            begin()

    def abort(self) -> None:
        """End the attempt and remove its files; does nothing after a commit or a previous abort."""
        if self._ended:
            return
        self._ended = True
        if self._kept is not None:
            self.store.close()
            self._hand_over(self._kept)
            return
        try:
            self.store.close()
            used_up = self._hand_back()
        except BaseException:
            self._discard()
            raise
        if not used_up:
            self._resources.versions.discard(self._resources.directory)

    def __enter__(self) -> Checkout:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.abort()

    def _write(self, changes: Changes) -> tuple[Pointer, bool]:
        """Write to the working store, and begin to write to the log at the same time.

        Returns:
            The new version, and whether it stays open with the changes in memory.
        """
        base, attempt = self.pointer, self.attempt
        log, upkeep = self._resources.log, self._resources.upkeep
        data = log.encode(changes, base.version + 1, attempt, base.version_id)
        ref = self._put(log.ref(data, base.version + 1, attempt, "delta"), data)
        pointer = base.with_delta(ref, data[-DIGEST_BYTES:], tuple(changes))
        background = self._background
        if background is not None:
            background.committed(log.task, base)
            pointer = background.published(log.task, base, pointer, self._put)
            if background.wants(log.task):
                self._snapshot_due = upkeep.snapshot_due(pointer) or background.to_mend(log.task)
                self._merger_due = upkeep.merger_due(pointer)
        try:
            due = background is None and upkeep.due(pointer)
            keeps = not due and self._stay_open(pointer, changes)
            if not keeps:
                if self._kept is not None:
                    self.store.close()
                    self._kept.write()
                self._base.write(changes)
            if due:
                self._await_uploads()
                pointer = upkeep.run(log, pointer, self._base, attempt)
            if not keeps:
                self._base.close()
            if keeps and self._kept is not None:
                self._hand_over(self._kept)
        except BaseException:
            for upload in self._uploads:
                upload.drop()
            raise
        return pointer, keeps

    def _put(self, ref: ObjectRef, data: bytes) -> ObjectRef:
        """Begin to store an object, in a pack if it is small; return its final reference."""
        packs, log = self._resources.packs, self._resources.log
        packed = None if packs is None else packs.add(data, ref.version, ref.level)
        if packed is None:
            self._uploads.append(ObjectUpload(partial(log.put, ref, data)))
            return ref
        found, pack = packed
        self._uploads.append(pack)
        if (background := self._background) is not None:
            background.recent.add(found, data)
        return found

    def _await_uploads(self) -> None:
        for upload in self._uploads:
            upload.settle()

    def _stay_open(self, pointer: Pointer, changes: Changes) -> bool:
        """Try to keep the new version open with its changes in memory; return whether it is."""
        kept = self._kept
        if kept is None or (self._snapshot_due and kept.resident is None):
            return False
        if not self._may_keep(kept) or not kept.has_room(changes):
            return False
        self.store.close()
        kept.follow(pointer, changes)
        if self._snapshot_due:
            self._copy = kept.copy()
        return True

    def _may_keep(self, kept: OpenVersion) -> bool:
        opened, reads = self._resources.open_versions, self._reads
        failed = reads is not None and reads.failed
        if opened is None or failed:
            return False
        opened.close_idle()
        home, size_bytes = self._resources.versions.home, kept.size_bytes
        return opened.has_room(home, size_bytes, database=kept.resident is None)

    def _hand_over(self, kept: OpenVersion) -> None:
        """Keep an open version for the next batch, or close it."""
        opened = self._resources.open_versions
        if opened is not None and self._may_keep(kept):
            opened.keep(kept)
        else:
            kept.close()

    def _publish(self, pointer: Pointer) -> None:
        """Publish the closed working store as local version."""
        versions = self._resources.versions
        with versions.exclusive():
            versions.publish(pointer.version, pointer.version_id, self._resources.directory)

    def _begin_upkeep(self, pointer: Pointer, *, keeps: bool) -> None:
        """Start background upkeep of a durable version, which stays open if `keeps`."""
        background, log = self._background, self._resources.log
        if background is None:
            return
        hold = self._resources.packs is not None
        copy = self._copy if keeps else self._copy_to_snapshot(pointer)
        if copy is not None:
            chunk_bytes = self._resources.upkeep.chunk_bytes
            background.begin_snapshot(log, pointer, copy, chunk_bytes=chunk_bytes, hold=hold)
        elif self._merger_due:
            background.begin_merger(log, pointer, self._merger_due, hold=hold)

    def _copy_to_snapshot(self, pointer: Pointer) -> VersionCopy | None:
        """Copy the published version if a snapshot of it is due; return None if it is gone."""
        resources, backend = self._resources, self._resources.backend
        if not isinstance(backend, CopiesVersions) or not self._snapshot_due:
            return None
        taken: LocalAttempt | None = None
        try:
            with resources.versions.exclusive():
                taken = resources.versions.begin(f"{self.attempt.name}-snapshot")
                made = backend.copy(resources.directory.directory, taken.directory)
            if made:
                opened = partial(backend.open, taken.directory, pointer.stores)
                return VersionCopy(opened, partial(resources.versions.discard, taken))
        except StoreError as error:
            _LOG.warning("task %s: no snapshot this time: %s", resources.log.task, error)
        if taken is not None:
            resources.versions.discard(taken)
        return None

    def _hand_back(self) -> bool:
        """Publish this unchanged copy as the local version, if `branch` has removed that version.

        Returns whether the copy was published.
        """
        version, version_id = self.pointer.version, self.pointer.version_id
        versions = self._resources.versions
        with versions.exclusive():
            if version == 0 or versions.find(version, version_id) is not None:
                return False
            versions.publish(version, version_id, self._resources.directory)
            return True

    def _discard(self) -> None:
        try:
            self.store.close()
            self._base.close()
        except StoreError:
            pass  # the error that led here says more
        finally:
            self._resources.versions.discard(self._resources.directory)
