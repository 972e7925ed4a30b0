"""Files of a table that a batch has written and readers do not see yet.

An attempt first writes a manifest with the names of the files that it will write. When the table
has the files, the manifest is deleted. So a manifest of an earlier batch belongs to an attempt that
did not commit, and its files are deleted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol
from uuid import uuid4

from kstreams.errors import SinkError
from kstreams.sinks import CommitId

__all__ = ("Attempt", "Files", "Receipt", "Staging", "lane_name")

_FOLDER = "_kstreams"  # readers and clean-up of tables pass over what begins with _
_DIGITS = 16
"""The number of hexadecimal digits in a lane's name."""
_AT_ONCE = 8
_SWEEPS = 2


class Files(Protocol):
    """The storage of a table's files. It raises the storage's own errors."""

    def write(self, name: str, data: bytes) -> None:
        """Write a file with a new name, atomically."""
        ...

    def read(self, name: str) -> bytes:
        """Return a file's bytes; raises `FileNotFoundError` if it does not exist."""
        ...

    def list(self, folder: str) -> list[str]:
        """Return the names of files in a folder; none if there is no folder."""
        ...

    def exists(self, name: str) -> bool:
        """Return whether the file exists."""
        ...

    def delete(self, name: str) -> None:
        """Delete a file; a missing file is no error."""
        ...


@dataclass(frozen=True)
class Attempt:
    """One attempt of a task in a batch; the names of all files that it writes contain its id."""

    lane: str
    batch: int
    id: str

    @staticmethod
    def at(commit: CommitId) -> Attempt:
        """Return a new attempt of a commit."""
        return Attempt(lane_name(commit), commit.batch, str(uuid4()))

    @property
    def name(self) -> str:
        """The common prefix of the attempt's file names."""
        return f"{self.batch:012d}-{self.id}"

    @property
    def manifest(self) -> str:
        """The name of the attempt's manifest."""
        return f"{_FOLDER}/{self.lane}/{self.name}.json"


@dataclass(frozen=True)
class Receipt:
    """The input of `publish` for an attempt.

    Attributes:
        manifest: The name of the attempt's manifest.
        entries: The attempt's files, as log entries of the table.
    """

    manifest: str
    entries: tuple[str, ...]

    def __str__(self) -> str:
        """Return the receipt as text."""
        return json.dumps([self.manifest, *self.entries])

    @staticmethod
    def of(text: str) -> Receipt:
        """Parse a receipt.

        Raises:
            SinkError: The text is not a receipt.
        """
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, list) or not found or not all(isinstance(e, str) for e in found):
            raise SinkError(
                f"the checkpoint has {text[:80]!r} where a list of staged files was expected",
                hint="a different sink with this node name wrote the checkpoint: rename this node.",
            )
        return Receipt(found[0], tuple(found[1:]))


class Staging:
    """Writes staged files, and deletes those of attempts that did not commit.

    Args:
        files: The storage of the table.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._swept: dict[str, set[int]] = {}

    def stage(self, attempt: Attempt, files: Mapping[str, bytes]) -> None:
        """Write an attempt's files, after its manifest."""
        self._sweep(attempt)
        self._files.write(attempt.manifest, json.dumps(list(files)).encode())
        _each(lambda name: self._files.write(name, files[name]), files)

    def forget(self, receipts: Iterable[Receipt]) -> None:
        """Delete manifests of files that the table has."""
        _each(self._files.delete, [receipt.manifest for receipt in receipts])

    def check(self, receipts: Iterable[Receipt]) -> None:
        """Check that the staged files exist.

        Raises:
            SinkError: A file is missing.
        """
        for receipt in receipts:
            try:
                names = json.loads(self._files.read(receipt.manifest))
                gone = [name for name in names if not self._files.exists(name)]
            except FileNotFoundError:
                gone = [receipt.manifest]
            if gone:
                raise SinkError(
                    f"a file of a committed batch is missing: {gone[0]}",
                    hint="before the app restarted, the table was cleaned up, or replaced by an "
                    "older copy: restore the file, or reset the app.",
                )

    def _sweep(self, attempt: Attempt) -> None:
        """Delete staged files of earlier batches, at the first two batches of a writer.

        The second time is needed for files of other attempts at this writer's first batch.
        """
        swept = self._swept.setdefault(attempt.lane, set())
        if len(swept) == _SWEEPS or attempt.batch in swept:
            return
        folder = f"{_FOLDER}/{attempt.lane}"
        for manifest in self._files.list(folder):
            if manifest.rpartition("/")[2] < f"{attempt.batch:012d}":
                try:
                    names = json.loads(self._files.read(manifest))
                except (FileNotFoundError, ValueError):  # removed just now, or cut short
                    names = []
                # An attempt's id is in the names of its files: no manifest leads to others.
                own = manifest.rpartition("/")[2].removesuffix(".json").partition("-")[2]
                _each(self._files.delete, [each for each in names if own in each])
                self._files.delete(manifest)
        swept.add(attempt.batch)


def lane_name(commit: CommitId) -> str:
    """Return the unique prefix of the names of a task's files."""
    named = json.dumps([commit.epoch, commit.sink]).encode()
    return f"{hashlib.sha256(named).hexdigest()[:_DIGITS]}-{commit.task:05d}"


def _each(work: Callable[[str], None], names: Iterable[str]) -> None:
    """Call a function for each name; in parallel if there are several names."""
    found = list(names)
    if len(found) < 2:
        for name in found:
            work(name)
        return
    with ThreadPoolExecutor(min(_AT_ONCE, len(found))) as threads:
        for _ in threads.map(work, found):
            pass
