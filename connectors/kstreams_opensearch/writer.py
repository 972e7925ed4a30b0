"""Write a task's results of a batch; documents of later commits are kept."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from typing_extensions import override

from kstreams import Record
from kstreams.errors import SinkError
from kstreams.sinks import CommitId, RefusedRow, Results, Writer
from kstreams_opensearch.lines import Fields, change_of, lines_of, version_of
from kstreams_opensearch.service import Service
from kstreams_rows.encoding import Change, fitting, in_rounds, made
from kstreams_rows.refusing import Refusals, refused

__all__ = ("IndexWriter",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_ROWS_AT_ONCE = 1_000
_BYTES_AT_ONCE = 5 * 1024 * 1024
_NOT_THERE, _NEWER = 404, 409


class IndexWriter(Writer[K, V]):
    """A `Writer` with its own connection.

    Args:
        service: The cluster to write to.
        index: The name of the index.
        name: Builds the id from a key.
        row: Builds the fields of a document.
    """

    def __init__(
        self,
        service: Service,
        index: str,
        name: Callable[[K], object] | None,
        row: Callable[[K, V], Fields | None],
    ) -> None:
        self._service = service
        self._index = index
        self._name = name
        self._row = row
        self._epoch: tuple[str, int] = ("", 0)

    @override
    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        records = results.records()
        found, wrong = made(records, lambda record: change_of(record, self._name, self._row))
        refusals = Refusals(results, "OpenSearch")
        refusals.reject(wrong)
        if not found:
            return ()
        reasons = in_rounds(
            found, lambda rows: self._service.retried(lambda: self._written(rows, commit))
        )
        refusals.reject([_refused(records[n], n, error) for n, error in sorted(reasons.items())])
        return ()

    @override
    def close(self) -> None:
        self._service.close()

    def _written(
        self, rows: Sequence[tuple[int, Change[str, bytes]]], commit: CommitId
    ) -> dict[int, dict[str, Any]]:
        """Write rows; return the server's errors for rejected rows, by row number.

        Raises:
            SinkError: A later epoch has written some of the documents.
        """
        version = version_of(self._numbered(commit.epoch), commit)
        if not self._service.claim(commit, version):
            _LOG.warning("commit %s is older than the fence and is not written", commit)
            return {}
        changes = [change for _, change in rows]
        found: dict[int, dict[str, Any]] = {}
        start = 0
        while start < len(rows):
            stop = fitting(changes, start, _ROWS_AT_ONCE, _BYTES_AT_ONCE)
            lines = b"".join(lines_of(change, version) for change in changes[start:stop])
            items = self._service.bulk(self._index, lines)
            for (number, change), item in zip(rows[start:stop], items, strict=True):
                if item["status"] == _NEWER:
                    self._see_newer(change.key, commit, version)
                elif item["status"] >= 300 and item["status"] != _NOT_THERE:
                    found[number] = item["error"]
            start = stop
        return found

    def _see_newer(self, key: str, commit: CommitId, version: int) -> None:
        """Check that a newer document was written by a later commit of the same task.

        Raises:
            SinkError: The task's fence has no later commit, so another app wrote the document.
        """
        if self._service.claim(commit, version):
            raise SinkError(
                f"index {self._index!r} has a newer document {key!r} that no commit of "
                f"epoch {commit.epoch!r} wrote",
                hint="another app, or a fork, writes the same ids: give each app a separate index.",
            )

    def _numbered(self, epoch: str) -> int:
        if self._epoch[0] != epoch:
            self._epoch = epoch, self._service.epoch(epoch)
        return self._epoch[1]


def _refused(record: Record[Any, Any], number: int, error: dict[str, Any]) -> RefusedRow:
    reason, cause = str(error.get("reason", "")), error.get("caused_by") or {}
    text = f"{reason}: {cause['reason']}" if "reason" in cause else reason
    return refused(number, record, text or "OpenSearch gave no reason", str(error.get("type", "")))
