"""A sink that records its results, for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic

from kstreams._types import K, V
from kstreams.quoting import repr_of
from kstreams.record import Record
from kstreams.sink import CommitId, Guarantee, RefusedRow, Results

__all__ = ("RecordingSink",)


class RecordingSink(Generic[K, V]):
    """Records results by commit in this process, exactly once.

    The results are staged, and visible after the commit of their batch.

    Args:
        refuses: Returns the reason to reject a result, or None to accept it.

    Attributes:
        commits: The published results, by commit.
        writes: Each written commit in order, including repeated commits.
    """

    label = "recording"
    guarantee: Guarantee = "exactly-once"

    def __init__(self, refuses: Callable[[Record[K, V]], str | None] | None = None) -> None:
        self._refuses = refuses
        self._staged: dict[CommitId, list[Record[K, V]]] = {}
        self.commits: dict[CommitId, list[Record[K, V]]] = {}
        self.writes: list[CommitId] = []

    def records(self) -> list[Record[K, V]]:
        """Return all published results, in the order of their commits."""
        return [record for found in self.commits.values() for record in found]

    def prepare(self) -> None:
        """Do nothing."""

    def open(self) -> RecordingSink[K, V]:
        """Return this object, which is its own writer."""
        return self

    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        """Stage the accepted results of a commit; return its receipts for `publish`."""
        self.writes.append(commit)
        taken: list[Record[K, V]] = []
        for number, record in enumerate(results.records()):
            reason = None if self._refuses is None else self._refuses(record)
            if reason is None:
                taken.append(record)
            else:
                results.refuse(RefusedRow(number, reason, _letter(record)))
        self._staged[commit] = taken
        return ("staged",)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Publish the staged results."""
        for commit in receipts:
            if commit in self._staged:
                self.commits[commit] = self._staged.pop(commit)

    def close(self) -> None:
        """Do nothing: the records stay."""


def _letter(record: Record[Any, Any]) -> Record[bytes | None, bytes | None]:
    key, value = (None if part is None else _bytes(part) for part in (record.key, record.value))
    return Record(key, value, record.timestamp, record.headers)


def _bytes(part: object) -> bytes:
    return part if isinstance(part, bytes) else repr_of(part).encode()
