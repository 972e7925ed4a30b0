"""Changes of a table satisfy the contract of logs, for copied rows and rows of a slot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import psycopg
import pytest

from kstreams import INT64
from kstreams.sources import Log
from kstreams.testing import LogContract
from kstreams_postgres import Change
from tests.connectors.kstreams_postgres.changed_tables import Shop

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Row:
    """A row whose only other column is the contract's value."""

    text: str


class _OfTable(LogContract[int, Change[Row]]):
    """Each `add` is a transaction."""

    @pytest.fixture(autouse=True)
    def _place(self, database: str) -> Iterator[None]:
        self.shop = Shop(database)
        self.numbers = count()
        self.shop.execute("CREATE TABLE rows (id bigint PRIMARY KEY, text text)")
        yield
        self.shop.drop_slots()

    def make(self) -> Log[int, Change[Row]]:
        return self.shop.log(table="rows", row=Row, key=INT64)  # type: ignore[return-value]

    def add(self, values: Sequence[str]) -> None:
        rows = [(next(self.numbers), value) for value in values]
        with psycopg.connect(self.shop.url) as connection, connection.cursor() as cursor:
            cursor.executemany("INSERT INTO rows VALUES (%s, %s)", rows)

    def text(self, value: Change[Row]) -> str:
        return "" if value.new is None else value.new.text


class TestCopied(_OfTable):
    """The first `add` precedes the slot."""


class TestOfSlot(_OfTable):
    """The slot precedes the first `add`."""

    @pytest.fixture(autouse=True)
    def _begun(self, _place: None) -> None:
        self.shop.begin(table="rows", row=Row)
