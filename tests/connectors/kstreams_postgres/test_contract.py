"""The sink passes the test suite for sinks in each of its modes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from kstreams import Record
from kstreams.sinks import Sink
from kstreams.testing import SinkContract
from kstreams_postgres import Columns, PostgresTable
from tests.support.sinks.postgres_tables import SOON, Place

pytestmark = pytest.mark.slow

TABLE = "CREATE TABLE totals (word text PRIMARY KEY, total integer CHECK (total < 100))"
LIST = "CREATE TABLE list (word text, total integer CHECK (total < 100))"


def _row(word: str, total: int) -> Columns:
    return {"word": word, "total": total}


def _rows(records: Sequence[Record[str, int]]) -> list[tuple[object, Columns | None]]:
    return [(record.key, {"total": record.value}) for record in records]


class _OnPostgres(SinkContract):
    bad = Record("a", 1_000, 5)

    @pytest.fixture(autouse=True)
    def _place(self, database: str) -> None:
        self.place = Place(database)
        self.place.execute(TABLE)
        self.place.execute(LIST)

    def seen(self) -> Iterable[tuple[str, int]]:
        return [(word, total) for word, total in self.place.rows()]


class TestAtWrite(_OnPostgres):
    def make(self) -> Sink[str, int]:
        return self.place.totals()


class TestAtCommit(_OnPostgres):
    def make(self) -> Sink[str, int]:
        return self.place.totals(visible="at-commit")


class TestPerBatch(_OnPostgres):
    def make(self) -> Sink[str, int]:
        return PostgresTable.of_batches(
            self.place.url,
            "totals",
            key=("word",),
            rows=_rows,
            give_up_after=SOON,
        )


class TestAppended(_OnPostgres):
    keeps_last = False

    def make(self) -> Sink[str, int]:
        return PostgresTable(
            self.place.url,
            "list",
            key=(),
            row=_row,
            give_up_after=SOON,
        )

    def seen(self) -> Iterable[tuple[str, int]]:
        return [(word, total) for word, total in self.place.rows("list")]
