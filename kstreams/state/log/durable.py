"""One task's part of the durable log: deltas and snapshot chunks, written and read back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from kstreams.errors import ObjectMissingError, StateCorruptError, StoreError
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.backend.working import Changes, StoreChanges, WorkingStore
from kstreams.state.log.delta import DIGEST_BYTES, DeltaHeader, decode, encode
from kstreams.state.log.pointer import ObjectRef, Pointer
from kstreams.state.log.restore_progress import RestoreProgress
from kstreams.state.log.version_ids import Link, link_of

__all__ = (
    "Attempt",
    "DurableLog",
    "checked_link",
    "checked_object",
    "put_object",
    "short_digest",
)

E = TypeVar("E", bound=StoreError)
"""The class of an error to which the app, partition group and partition are added."""

_PARALLEL_READS = 8
_SHORT_DIGEST_BYTES = 8


@dataclass(frozen=True)
class Attempt:
    """One attempt of a task at a micro-batch, with a unique name."""

    name: str
    batch: int


@dataclass(frozen=True)
class DurableLog:
    """Reads and writes the objects of one task. Several attempts may use it at the same time.

    Names increase with the version and contain the attempt: `<prefix><version>-<attempt>.<kind>`,
    where kind is `delta` (the changes of a batch), `run` (merged deltas) or `chunk` (a range of a
    snapshot).
    """

    objects: ObjectStore
    task: TaskKey

    def put(self, ref: ObjectRef, data: bytes) -> ObjectRef:
        """Store an encoded object durably, and return its ref.

        An existing object with the same bytes is no error: the reply to an earlier request may
        have been lost.

        Raises:
            StoreError: The object cannot be stored, or the name exists with other contents.
        """
        try:
            put_object(self.objects, ref.name, data)
        except StoreError as error:
            raise self._at(error) from error.__cause__
        return ref

    def read(self, ref: ObjectRef) -> dict[str, StoreChanges]:
        """Return the changes that an object holds.

        Raises:
            StateCorruptError: The object is missing, damaged, or not the referenced object.
        """
        return self._decoded(ref, self._fetch(ref))[1]

    def read_all(self, refs: Iterable[ObjectRef]) -> Iterator[Changes]:
        """Yield the changes of objects in their order; fetches a few objects ahead."""
        return (changes for _, changes in self.read_linked(refs))

    def read_linked(self, refs: Iterable[ObjectRef]) -> Iterator[tuple[Link, Changes]]:
        """Yield the changes of objects in their order, each with its `Link`; fetches ahead."""
        waiting: deque[tuple[ObjectRef, Future[bytes]]] = deque()
        with ThreadPoolExecutor(_PARALLEL_READS, "kstreams-restore") as pool:
            try:
                for ref in refs:
                    waiting.append((ref, pool.submit(self._fetch, ref)))
                    if len(waiting) >= _PARALLEL_READS:
                        first, data = waiting.popleft()
                        yield self._decoded(first, data.result())
                while waiting:
                    first, data = waiting.popleft()
                    yield self._decoded(first, data.result())
            finally:
                for _, data in waiting:
                    data.cancel()

    def restore(self, pointer: Pointer, store: WorkingStore, after: int | None = None) -> None:
        """Restore a working store, open with all stores of the pointer, to the pointer's version.

        Only a few objects are in memory at a time, for any size of state. Logs the progress.

        Args:
            pointer: The version.
            store: An empty working store, or one at an earlier version of the same state.
            after: The number of that earlier version, at least `pointer.base`; None if `store` is
                empty.

        Raises:
            StateCorruptError: An object is missing or damaged; discard the working store.
        """
        refs = pointer.objects() if after is None else pointer.deltas_after(after)
        progress = RestoreProgress(self.task, refs)
        for ref, changes in zip(refs, self.read_all(refs), strict=True):
            store.write(changes)
            progress.done(ref)

    def ref(
        self, data: bytes, version: int, attempt: Attempt, kind: str, level: int = 0
    ) -> ObjectRef:
        """Return the reference to an encoded object that an attempt is about to write.

        Args:
            data: The encoded object.
            version: The version that the object results in.
            attempt: The attempt.
            kind: The kind of content: `delta`, `run` or `chunk`.
            level: The number of times that the content has been merged.
        """
        name = f"{self.task.prefix}{version:020d}-{attempt.name}.{kind}"
        return ObjectRef(name, short_digest(data), len(data), level)

    def encode(
        self,
        changes: Changes,
        version: int,
        attempt: Attempt,
        parent: str,
        kind: str = "delta",
        *,
        first: int = 0,
        version_id: str = "",
    ) -> bytes:
        """Return the bytes of an object with these changes; its header names this task.

        The arguments are described in `DeltaHeader`.
        """
        header = DeltaHeader(
            self.task.app,
            self.task.group,
            self.task.partition,
            version,
            attempt.batch,
            attempt.name,
            parent,
            kind,
            first,
            version_id,
        )
        return encode(changes, header)

    def _fetch(self, ref: ObjectRef) -> bytes:
        try:
            return _fetched(self.objects, ref)
        except StoreError as error:
            raise self._at(error) from error.__cause__

    def _decoded(self, ref: ObjectRef, data: bytes) -> tuple[Link, dict[str, StoreChanges]]:
        try:
            return _proved(ref, data)
        except StateCorruptError as error:
            error.message += f" (in {self.objects})"
            raise self._at(error) from error.__cause__

    def _at(self, error: E) -> E:
        return error.at(app=self.task.app, group=self.task.group, partition=self.task.partition)


def put_object(objects: ObjectStore, name: str, data: bytes) -> None:
    """Store an object durably; an existing object with the same bytes is no error.

    Raises:
        StoreError: The object cannot be stored, or the name exists with other contents.
    """
    if not objects.put_if_absent(name, data) and objects.get(name) != data:
        raise StoreError(
            f"object {name!r} of the state's log {objects} exists with other contents",
            hint="Name each attempt with new_attempt(): two attempts had the same name.",
        )


def _fetched(objects: ObjectStore, ref: ObjectRef) -> bytes:
    """Return the bytes of a referenced object, without a check of its digest."""
    try:
        if ref.part is None:
            return objects.get(ref.name)
        return objects.get(ref.name, ref.part.start, ref.size_bytes)
    except ObjectMissingError as error:
        raise StateCorruptError(
            f"object {ref.name!r} of the state's log {objects} is missing",
            hint="Restore the object from a copy of the log, or start from an older savepoint.",
        ) from error


def checked_object(objects: ObjectStore, ref: ObjectRef) -> bytes:
    """Return the bytes of a referenced object, after checking them against the ref's digest.

    Raises:
        StateCorruptError: The object is missing, damaged, or not the referenced object.
    """
    data = _fetched(objects, ref)
    _proved(ref, data)
    return data


def checked_link(objects: ObjectStore, ref: ObjectRef) -> Link:
    """Return the `Link` of a referenced object; reads and checks it as `checked_object` does."""
    return _proved(ref, _fetched(objects, ref))[0]


def _proved(ref: ObjectRef, data: bytes) -> tuple[Link, dict[str, StoreChanges]]:
    """Return the `Link` and the changes of an object's bytes, after checking the bytes' digest."""
    header, changes = decode(data, str(ref))
    if short_digest(data) != ref.digest:
        raise StateCorruptError(
            f"object {str(ref)!r} of the state's log is not the one that was committed: "
            f"digest {short_digest(data)}, expected {ref.digest}",
            hint="The object was overwritten: restore it from a copy of the log.",
        )
    try:
        return link_of(header, data), changes
    except (ValueError, TypeError) as error:
        raise StateCorruptError(
            f"object {str(ref)!r} of the state's log has an invalid header: {error}",
            hint="The object was overwritten: restore it from a copy of the log.",
        ) from error


def short_digest(data: bytes) -> str:
    """Return the part of an encoded object's digest that pointers keep: 16 hex digits."""
    start = len(data) - DIGEST_BYTES
    return data[start : start + _SHORT_DIGEST_BYTES].hex()
