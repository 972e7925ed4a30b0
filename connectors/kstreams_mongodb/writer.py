"""Write a task's results of a batch; documents of later commits are kept."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from typing_extensions import override

from kstreams import Record
from kstreams.sinks import CommitId, RefusedRow, Results, Writer
from kstreams_mongodb.documents import Document, Fields, change_of, order_of, request_of
from kstreams_mongodb.sdk import errors
from kstreams_mongodb.server import PASSING, Server
from kstreams_rows.encoding import Change, fitting, in_rounds, made
from kstreams_rows.fence import lane_of
from kstreams_rows.refusing import Refusals, refused

__all__ = ("CollectionWriter",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

_Numbered = tuple[int, Change[bytes, Document]]

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_THERE = 11000
_ROWS_AT_ONCE = 1_000
_BYTES_AT_ONCE = 16 * 1024 * 1024


class CollectionWriter(Writer[K, V]):
    """A `Writer` with its own client.

    Args:
        server: The server to write to.
        collection: The name of the collection.
        fence: The name of the collection of fences.
        name: Builds the `_id` from a key.
        row: Builds the fields of a document.
    """

    def __init__(
        self,
        server: Server,
        collection: str,
        fence: str,
        name: Callable[[K], object] | None,
        row: Callable[[K, V], Fields | None],
    ) -> None:
        self._server = server
        self._collection = collection
        self._fence = fence
        self._name = name
        self._row = row

    @override
    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        records = results.records()
        found, wrong = made(records, lambda record: change_of(record, self._name, self._row))
        refusals = Refusals(results, "MongoDB")
        refusals.reject(wrong)
        if not found:
            return ()
        is_due = self._server.retried(lambda: self._claim(commit))
        if is_due:
            reasons = in_rounds(
                found, lambda rows: self._server.retried(lambda: self._written(rows, commit))
            )
            refusals.reject(
                [_refused(records[n], n, error) for n, error in sorted(reasons.items())]
            )
        return ()

    @override
    def close(self) -> None:
        self._server.close()

    def _claim(self, commit: CommitId) -> bool:
        """Move the task's fence to a commit; return False if a later commit has moved it."""
        lane, order = lane_of(commit), order_of(commit)
        fences = self._server.collection(self._fence)
        try:
            fences.update_one(
                {"_id": lane, "order": {"$lte": order}}, {"$set": {"order": order}}, upsert=True
            )
        except errors.DuplicateKeyError:
            found = fences.find_one({"_id": lane}) or {"order": order}
            if found["order"] > order:
                _LOG.warning("commit %s is older than the fence and is not written", commit)
                return False
        return True

    def _written(self, rows: Sequence[_Numbered], commit: CommitId) -> dict[int, dict[str, Any]]:
        """Write rows; return the server's errors for rejected rows, by row number."""
        collection = self._server.collection(self._collection)
        reasons: dict[int, dict[str, Any]] = {}
        changes = [change for _, change in rows]
        start = 0
        while start < len(rows):
            stop = fitting(changes, start, _ROWS_AT_ONCE, _BYTES_AT_ONCE)
            requests = [request_of(change, commit) for change in changes[start:stop]]
            try:
                collection.bulk_write(requests, ordered=False)
            except errors.BulkWriteError as exc:
                for error in _of_rows(exc):
                    reasons[rows[start + error["index"]][0]] = error
            start = stop
        return reasons


def _of_rows(exc: errors.BulkWriteError) -> list[dict[str, Any]]:
    """Return the errors that rows have caused.

    Raises:
        BulkWriteError: Some errors are temporary failures of the server.
    """
    details: Any = exc.details or {}
    found: list[dict[str, Any]] = list(details.get("writeErrors", ()))
    if details.get("writeConcernErrors") or any(each.get("code") in PASSING for each in found):
        raise exc
    return [each for each in found if not _is_newer(each)]


def _is_newer(error: dict[str, Any]) -> bool:
    """Return whether a write failed because a document of the same or a later commit exists."""
    if error.get("code") != _THERE:
        return False
    pattern = error.get("keyPattern")
    return list(pattern) == ["_id"] if pattern else " _id_ " in str(error.get("errmsg", ""))


def _refused(record: Record[Any, Any], number: int, error: dict[str, Any]) -> RefusedRow:
    reason = str(error.get("errmsg", "")) or "MongoDB gave no reason"
    return refused(number, record, reason, str(error.get("code", "")))
