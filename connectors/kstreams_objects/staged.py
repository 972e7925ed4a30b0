"""Files that are staged before a commit, and renamed to their final names after it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import ClassVar
from uuid import uuid4

from kstreams.errors import InvalidNameError, SinkError, SinkUnavailableError, StoreError
from kstreams.sinks import CommitId, Guarantee
from kstreams.state import object_name_parts
from kstreams_objects.place import MovingStore, Place, as_place
from kstreams_rows.staging import lane_name

__all__ = ("StagedFiles", "Stager", "checked_path", "storage_errors")

_STAGED = "_staged"
_STEP_BYTES = 255
_SWEEPS = 2
_LARGEST_BYTES = 5_000_000_000
"""The largest object S3 copies in one request."""


class StagedFiles:
    """The common base of file sinks: their storage, and the publishing of staged files.

    Attributes:
        place: The path of a directory, or the settings of a storage.
        replaces: Whether a file replaces an existing file of the same name.
    """

    place: str | os.PathLike[str] | Place
    replaces: ClassVar[bool] = False

    @property
    def label(self) -> str:
        """The label of the source or sink in diagrams of the topology."""
        return f"files in {as_place(self.place).place}"

    @property
    def guarantee(self) -> Guarantee:
        """Exactly once, or less if the storage guarantees less."""
        found: Guarantee = getattr(as_place(self.place), "guarantee", "exactly-once")
        return found

    def prepare(self) -> None:
        """Check that the storage answers.

        Raises:
            SinkUnavailableError: The storage does not answer, or rejects the request.
        """
        with storage_errors():
            for _ in self.store.list(f"{_STAGED}/-"):
                pass

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Rename the staged files of a batch's tasks to their final names.

        A staged file that does not exist was renamed before.

        Raises:
            SinkUnavailableError: The storage does not answer.
            SinkError: A receipt was not written by this sink.
        """
        with storage_errors():
            for commit in sorted(receipts, key=lambda each: (each.task, each.order)):
                for receipt in receipts[commit]:
                    staged, name = _read(receipt)
                    self.store.move(staged, name, replace=self.replaces)

    @cached_property
    def store(self) -> MovingStore:
        """The storage, opened once in a process."""
        return as_place(self.place).open()

    def __getstate__(self) -> dict[str, object]:
        """Return the state for pickling, without open connections."""
        return {name: each for name, each in self.__dict__.items() if name != "store"}


class Stager:
    """Stages files in a worker.

    Args:
        store: The storage.
    """

    def __init__(self, store: MovingStore) -> None:
        self._store = store
        self._swept: dict[str, set[int]] = {}

    def stage(self, commit: CommitId, name: str, data: bytes) -> str:
        """Stage a file of a batch; return a receipt for `StagedFiles.publish`.

        Raises:
            SinkError: The file is too large.
            StoreError: The storage rejects the request.
        """
        if len(data) > _LARGEST_BYTES:
            raise SinkError(
                f"a file of the batch has {len(data):,} bytes; the maximum is {_LARGEST_BYTES:,}",
                hint="make batches smaller, or spread the results over several files with folder=.",
            )
        lane = lane_name(commit)
        self._sweep(lane, commit)
        staged = f"{_STAGED}/{lane}/{commit.batch:012d}-{uuid4().hex}"
        self._store.put_if_absent(staged, data)
        return json.dumps([staged, name])

    def _sweep(self, lane: str, commit: CommitId) -> None:
        """Delete a task's staged files of earlier batches, at the first two batches of this stager.

        The remaining files belong to published batches, or to attempts that were never committed.
        The second time is needed for files of other attempts at the first batch.
        """
        swept = self._swept.setdefault(lane, set())
        if len(swept) < _SWEEPS and commit.batch not in swept:
            swept.add(commit.batch)
            prefix = f"{_STAGED}/{lane}/"
            bound = f"{prefix}{commit.batch:012d}"
            self._store.delete([name for name in self._store.list(prefix) if name < bound])


def checked_path(path: object, what: str) -> str:
    """Return a path if it stays below the storage's directory and is not hidden from readers.

    Args:
        path: The path.
        what: The kind of the path for errors: `file` or `folder`.

    Raises:
        InvalidNameError, TypeError: The path is invalid.
    """
    if not isinstance(path, str):
        raise TypeError(f"the path of a {what} must be a text, got a {type(path).__name__}")
    for part in object_name_parts(path):
        if part.startswith("_") or not part.isprintable() or len(part.encode()) > _STEP_BYTES:
            raise InvalidNameError(
                f"{path[:80]!r} is not a valid path of a {what}",
                name=path,
                hint="parts between slashes have 1 to 255 bytes, begin with no '.' or '_', and "
                "have printable characters only.",
            )
    return path


def _read(receipt: str) -> tuple[str, str]:
    try:
        staged, name = json.loads(receipt)
        for each in (staged, name):
            object_name_parts(each)
    except (ValueError, TypeError, AttributeError):
        raise SinkError(
            f"the checkpoint has {receipt!r} where a staged file was expected",
            hint="a different sink with this node name wrote the checkpoint: rename this node.",
        ) from None
    return staged, name


@contextmanager
def storage_errors() -> Iterator[None]:
    """Convert errors of the storage to sink errors."""
    try:
        yield
    except StoreError as exc:
        code = str(getattr(exc, "code", ""))
        raise SinkUnavailableError(exc.message, code, hint=exc.hint) from None
