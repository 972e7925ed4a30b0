"""The common sink tests on PostgreSQL: a column that is too small, constraints of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

import pytest

from kstreams.sinks import Sink
from kstreams_postgres import PostgresTable
from tests.support.sinks.common_sink_tests import SECRET, Address, SinkTraps, address_of
from tests.support.sinks.postgres_tables import Place, total_row

pytestmark = pytest.mark.connectors

TABLE = """
CREATE TABLE totals (
    word varchar(10) PRIMARY KEY,
    total integer NOT NULL CHECK (total < 100000)
)
"""


class TestTable(SinkTraps):
    bad: ClassVar[Mapping[str, object]] = {
        "too large for its column": 1 << 40,
        "of another type": "text",
        "against a check": 200_000,
    }

    @pytest.fixture(autouse=True)
    def _place(self, database: str) -> None:
        self.place = Place(database)
        self.place.execute(TABLE)

    def address(self) -> Address:
        return address_of(self.place.url)

    def sink(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        parts = urlsplit(self.place.url)
        login = parts.netloc.rpartition("@")[0]
        url = parts._replace(netloc=f"{login}@{address[0]}:{address[1]}").geturl()
        return PostgresTable(
            url, "totals", key=("word",), row=total_row, give_up_after=give_up_after
        )

    def with_secret(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        url = f"postgresql://app:{quote(SECRET, safe='')}@{address[0]}:{address[1]}/d"
        return PostgresTable(
            url, "totals", key=("word",), row=total_row, give_up_after=give_up_after
        )

    def seen(self) -> Iterable[tuple[str, Any]]:
        return [(word, total) for word, total in self.place.rows()]
