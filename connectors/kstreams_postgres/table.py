"""A table as a sink: what a user says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, Literal, TypeVar

from kstreams import Record
from kstreams.sinks import CommitId, Guarantee, Writer
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
"""Whether others see a batch's rows when its task has written them, or when it is committed."""


@dataclass(frozen=True, repr=False)
class PostgresTable(Generic[K, V]):
    """Keeps a row a key in a table of PostgreSQL, or appends rows to it, exactly once.

    Without a key rows are appended, and `None` for a row leaves the result out. With one, the
    last row of a key in a batch is what counts, and `None` deletes it. Rows that the table does
    not take (a value too large, a constraint, a trigger) are refused one by one, and go by the
    sink's `on_refused`; the others of the batch are written.

    A batch is one transaction a task. `at-write`, the default with a key, ends it before the
    batch is committed: where the batch runs again, with the same rows, nothing is written twice.
    `at-commit`, the default without a key, keeps rows in a table of their own, and shows those
    of all tasks together after the commit: it writes three times as much, and holds for
    processors whose second run would give other rows, too.

    Args:
        url: A connection string of libpq, such as `postgresql://user:password@host/database`.
            It shows in no text. What it leaves out comes from the environment of each worker.
        table: Name of the table, with its schema if need be: `shop.totals`. It has to be there.
        key: Columns of its primary key, or of a unique constraint; () appends.
        row: Makes the columns of a row from key and value. The record's key is that of the row: a
            tuple where the row's has several columns. A column that is left out keeps its value,
            or gets its default.
        visible: When others see a batch's rows.
        fence: Table of the fences, one row a task; made by `prepare` if it is not there.
        give_up_after: How long to try again while the database does not answer, is starting or
            holds a lock; then the batch fails.
        lock_timeout: How long a statement waits for a lock.

    Raises:
        ValueError: The url or a name is empty, or a column is named twice.

    Source: Kafka Connect's JDBC sink in its mode `upsert`, with deletes; that one is at least
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
            raise ValueError("a PostgresTable needs a url, a table, a fence and names of columns")
        if len(set(self.key)) < len(self.key):
            raise ValueError(f"key names a column twice: {self.key!r}")
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
        """Return a sink whose rows are made of all that a task gives in a batch.

        Args:
            url: As for `PostgresTable`, and so are the others.
            table: Name of the table.
            key: Columns of its key.
            rows: Makes pairs of key and columns from records, in the order of forwarding; None
                for columns deletes. It should give the same for the same records.
            visible: When others see a batch's rows.
            fence: Table of the fences.
            give_up_after: How long to retry.
            lock_timeout: How long a statement waits for a lock.
        """
        return cls(url, table, key, _no_row, visible, fence, give_up_after, lock_timeout, rows)

    def __repr__(self) -> str:
        """Show all but the address and the functions."""
        return (
            f"PostgresTable(table={self.table!r}, key={self.key!r}, visible={self.visible!r}, "
            f"fence={self.fence!r})"
        )

    @property
    def label(self) -> str:
        """The label of this node in pictures of the topology."""
        return f"postgresql table {self.table}"

    @property
    def guarantee(self) -> Guarantee:
        """Exactly once; at least once for rows that are appended and seen at once.

        They would come again where a batch is made smaller after a task of it has written.
        """
        once = self.key or self.visible == "at-commit"
        return "exactly-once" if once else "at-least-once"

    def prepare(self) -> None:
        """Make the table of fences, and look whether the table has the columns of the key.

        Raises:
            SinkUnavailableError: The database does not answer.
            SinkError: The table is not there, or lacks a column, a unique key or a right.
        """
        database = self._database()
        try:
            database.retried(lambda c: create_missing(c, self._names(), self.key, self._stages))
        finally:
            database.close()

    def open(self) -> Writer[K, V]:
        """Open a writer, which has a connection of its own."""
        given: Given[K, V]
        given = PerRecord(self.row) if self._rows is None else PerBatch(self._rows)
        return PostgresWriter(self._database(), self._names(), self.key, given, stages=self._stages)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Show the staged rows of a batch's tasks, all in one transaction."""
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
    """Make nothing: rows are made of batches."""
