"""Write a task's results of a batch, many rows per request."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from typing_extensions import override

from kstreams.sinks import CommitId, Results, Writer
from kstreams_bigtable.epochs import base_of, claim, micros_of
from kstreams_bigtable.rows import Row, RowMaker, mutations
from kstreams_bigtable.service import Service
from kstreams_rows.encoding import Change, fitting, in_rounds, made
from kstreams_rows.refusing import Refusals, refused

__all__ = ("RowsWriter",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_ROWS_AT_ONCE = 1_000
_BYTES_AT_ONCE = 4 * 1024 * 1024


class RowsWriter(Writer[K, V]):
    """A `Writer` with its own channels.

    Args:
        service: The client of Bigtable; closed with the writer.
        table: The table.
        fence: The table of fences.
        maker: Builds rows.
    """

    def __init__(self, service: Service, table: str, fence: str, maker: RowMaker) -> None:
        self._service = service
        self._table = table
        self._fence = fence
        self._maker = maker
        self._asked = False
        self._epoch: tuple[str, int] = ("", 0)

    @override
    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        records = results.records()
        found, wrong = made(records, self._known().change)
        refusals = Refusals(results, "Bigtable")
        refusals.reject(wrong)
        if not found:
            return ()
        said = in_rounds(
            found, lambda rows: self._service.retried(lambda: self._written(rows, commit))
        )
        refusals.reject([refused(n, records[n], why) for n, why in sorted(said.items())])
        return ()

    @override
    def close(self) -> None:
        self._service.close()

    def _written(
        self, rows: Sequence[tuple[int, Change[bytes, Row]]], commit: CommitId
    ) -> dict[int, str]:
        """Write rows; return, by row number, why Bigtable rejects rows."""
        if not claim(self._service, self._fence, commit):
            _LOG.warning("commit %s is older than the fence and is not written", commit)
            return {}
        micros = micros_of(self._base(commit.epoch), commit)
        changes = [change for _, change in rows]
        found: dict[int, str] = {}
        start = 0
        while start < len(rows):
            stop = fitting(changes, start, _ROWS_AT_ONCE, _BYTES_AT_ONCE)
            some = [(change.key, mutations(change, micros)) for change in changes[start:stop]]
            said = self._service.mutate(self._table, some)
            found |= {n: why for (n, _), why in zip(rows[start:stop], said, strict=True) if why}
            start = stop
        return found

    def _known(self) -> RowMaker:
        """Return the row maker, with the column families that the table had at the first batch."""
        if not self._asked:
            families = self._service.retried(lambda: self._service.families(self._table))
            self._maker, self._asked = replace(self._maker, families=families), True
        return self._maker

    def _base(self, epoch: str) -> int:
        if self._epoch[0] != epoch:
            self._epoch = epoch, base_of(self._service, self._fence, self._table, epoch)
        return self._epoch[1]
