"""The sink passes the test suite for sinks."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kstreams import Record
from kstreams.sinks import Sink
from kstreams.testing import SinkContract
from kstreams_dynamodb import Attributes
from tests.connectors.kstreams_dynamodb.tables import Tables

pytestmark = pytest.mark.connectors


class TestTable(SinkContract):
    bad = Record("a", 1_000, 5)

    @pytest.fixture(autouse=True)
    def _table(self, tables: Tables) -> None:
        self.tables = tables
        tables.make("word")

    def make(self) -> Sink[str, int]:
        return self.tables.sink(row=_row)

    def seen(self) -> Iterable[tuple[str, int]]:
        return [(str(item["word"]), int(item["total"])) for item in self.tables.items()]


def _row(_word: str, total: int) -> Attributes:
    return {"total": total if total < 1_000 else 10**40}
