"""The PostgreSQL sink and its options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeVar

from typing_extensions import override

from kstreams import Record
from kstreams.sinks import CommitId, Guarantee, Sink, Writer
from kstreams_postgres.catalog import Names, create_missing, described
from kstreams_postgres.connecting import Database
from kstreams_postgres.row_making import Columns, Given, PerBatch, PerRecord
from kstreams_postgres.staging import publish
from kstreams_postgres.writer import PostgresWriter

__all__ = ("Columns", "PostgresTable", "Visible")

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

Visible = Literal["at-write", "at-commit"]
"""When other transactions see rows: after the write of their task, or after the commit."""


@dataclass(frozen=True, repr=False)
class PostgresTable(Sink[K, V]):
    """Writes one row per key to a PostgreSQL table, or appends rows to it, exactly once.

    Without a key, rows are appended, and `None` for a row skips the result. With a key, the last
    row of a key in a batch is written, and `None` deletes it. Rows that the table rejects (a value
    out of range, a constraint, a trigger) are rejected individually and handled by the sink's
    `on_refused`; the other rows of the batch are written.

    A batch is one transaction per task. `at-write`, the default with a key, ends the transaction
    before the batch commits; if the batch runs again with the same rows, nothing is written twice.
    `at-commit`, the default without a key, stages rows in a separate table and shows the rows of
    all tasks together after the commit. It writes three times as much, and also works for
    processors whose second run would return other rows.

    Args:
        url: A libpq connection string, such as `postgresql://user:password@host/database`. Logs and
            errors do not show it. Missing parts come from the environment of each worker.
        table: The name of the table, with an optional schema: `shop.totals`. It must exist.
        key: The columns of its primary key, or of a unique constraint; () appends.
        row: Builds the columns of a row from key and value. The record's key is the row's key: a
            tuple if the key has several columns. A column that is left out keeps its value, or gets
            its default.
        visible: `"at-write"` shows rows when their task has written them, `"at-commit"` when the
            batch has committed; None selects the default above.
        fence: The sink's own table with the last written commit of each task, so that a repeated or
            late attempt changes nothing; `prepare` creates it if it does not exist.
        give_up_after: The maximum time to retry while the database does not answer, is starting or
            holds a lock; after that the batch fails.
        lock_timeout: The maximum time a statement waits for a lock.

    Raises:
        ValueError: The URL or a name is empty, or a column is named twice.

    Source: Kafka Connect's JDBC sink in the mode `upsert`, with deletes; that sink is at least
    once, and Flink's exactly-once sink needs prepared transactions.
    """

    url: str = field(repr=False)
    table: str
    key: tuple[str, ...]
    row: Callable[[K, V], Columns | None]
    visible: Visible | None = None
    fence: str = "kstreams_fence"
    give_up_after: timedelta = timedelta(seconds=30)
    lock_timeout: timedelta = timedelta(seconds=30)
    _rows: Callable[[Sequence[Record[K, V]]], Iterable[tuple[object, Columns | None]]] | None = None

    def __post_init__(self) -> None:
        if not self.url or not self.table or not self.fence or not all(self.key):
            raise ValueError(
                "url, table, fence= and the names in key= of a PostgresTable must not be empty"
            )
        if len(set(self.key)) < len(self.key):
            raise ValueError(f"key= names a column twice: {self.key!r}")
        object.__setattr__(self, "key", tuple(self.key))
        if self.visible is None:
            object.__setattr__(self, "visible", "at-write" if self.key else "at-commit")

    @classmethod
    def of_batches(
        cls,
        url: str,
        table: str,
        *,
        key: tuple[str, ...],
        rows: Callable[[Sequence[Record[K, V]]], Iterable[tuple[object, Columns | None]]],
        visible: Visible | None = None,
        fence: str = "kstreams_fence",
        give_up_after: timedelta = timedelta(seconds=30),
        lock_timeout: timedelta = timedelta(seconds=30),
    ) -> PostgresTable[K, V]:
        """Return a sink whose rows are built from all results of a task's batch.

        Args:
            url: The connection string; see `PostgresTable`.
            table: The name of the table.
            key: The columns of its key.
            rows: Builds pairs of key and columns from records, in the order of forwarding; None for
                columns deletes the row. It should be deterministic.
            visible: `"at-write"` or `"at-commit"`; see `PostgresTable`.
            fence: The sink's own table with the last written commit of each task.
            give_up_after: The maximum time to retry.
            lock_timeout: The maximum time a statement waits for a lock.
        """
        return cls(url, table, key, _no_row, visible, fence, give_up_after, lock_timeout, rows)

    def __repr__(self) -> str:
        """Return a text without the address and the functions."""
        return (
            f"PostgresTable(table={self.table!r}, key={self.key!r}, visible={self.visible!r}, "
            f"fence={self.fence!r})"
        )

    @property
    @override
    def label(self) -> str:
        return f"postgresql table {self.table}"

    @property
    def guarantee(self) -> Guarantee:
        """Exactly once; at least once for appended rows that are visible at write.

        Such rows are repeated if a batch is made smaller after one of its tasks has written.
        """
        once = self.key or self.visible == "at-commit"
        return "exactly-once" if once else "at-least-once"

    def prepare(self) -> None:
        """Create the table of fences, and check that the table has the key columns.

        Raises:
            SinkUnavailableError: The database does not answer.
            SinkError: The table does not exist, or a column, a unique key or a permission is
                missing.
        """
        database = self._database()
        try:
            database.retried(lambda c: create_missing(c, self._names(), self.key, self._stages))
        finally:
            database.close()

    @override
    def open(self) -> Writer[K, V]:
        given: Given[K, V]
        given = PerRecord(self.row) if self._rows is None else PerBatch(self._rows)
        return PostgresWriter(self._database(), self._names(), self.key, given, stages=self._stages)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Publish the staged rows of a batch's tasks in one transaction."""
        database = self._database()
        try:
            database.retried(lambda c: publish(c, described(c, self._names(), self.key), receipts))
        finally:
            database.close()

    @property
    def _stages(self) -> bool:
        return self.visible == "at-commit"

    def _database(self) -> Database:
        return Database(self.url, self.give_up_after, self.lock_timeout)

    def _names(self) -> Names:
        return Names(self.table, self.fence)


def _no_row(key: object, value: object) -> Columns | None:
    """Return no row, because rows are built from batches."""
