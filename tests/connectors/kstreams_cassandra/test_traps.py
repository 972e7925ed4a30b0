"""The common sink tests on Cassandra; a column is called `batch`, a reserved word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from kstreams.sinks import Sink
from kstreams_cassandra import CassandraTable
from tests.connectors.kstreams_cassandra.tables import Keyspaces, Place
from tests.support.sinks.common_sink_tests import SECRET, Address, SinkTraps

pytestmark = pytest.mark.connectors


class TestTable(SinkTraps):
    bad: ClassVar[Mapping[str, object]] = {
        "too large for its column": 1 << 40,
        "of another type": "text",
        "a list": [1],
    }
    lengths = (0, 100, 3_000, 1 << 24)  # the driver waits for 5 s when its first connection is lost

    @pytest.fixture(autouse=True)
    def _place(self, place: Place, cassandra: Keyspaces) -> None:
        self.place, self.node = place, (cassandra.host, cassandra.port)
        place.make('word text PRIMARY KEY, "batch" int')

    def address(self) -> Address:
        return self.node

    def sink(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        host, port = address
        return CassandraTable(
            [host],
            f"k.{self.place.name}",
            key=("word",),
            row=_row,
            port=port,
            give_up_after=give_up_after,
        )

    def with_secret(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        host, port = address
        return CassandraTable(
            [host],
            "k.t",
            key=("word",),
            row=_row,
            port=port,
            user="app",
            password=SECRET,
            give_up_after=give_up_after,
        )

    def seen(self) -> Iterable[tuple[str, Any]]:
        return self.place.rows('word, "batch"')


def _row(_key: str, value: Any) -> Any:
    return None if value is None else {"batch": value}
