"""The common sink tests on DynamoDB; an attribute is called `batch`, a reserved word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from kstreams.sinks import Sink
from tests.connectors.kstreams_dynamodb.tables import Tables
from tests.support.sinks.common_sink_tests import SECRET, Address, SinkTraps, address_of

pytestmark = pytest.mark.connectors


class TestTable(SinkTraps):
    bad: ClassVar[Mapping[str, object]] = {
        "more than 400 KB": "x" * 500_000,
        "of another type": object(),
        "more digits than numbers have": 10**200,
    }

    @pytest.fixture(autouse=True)
    def _place(self, tables: Tables) -> None:
        self.tables = tables
        tables.make("word")

    def address(self) -> Address:
        return address_of(self.tables.url)

    def sink(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        url = f"http://{address[0]}:{address[1]}"
        return self.tables.sink(endpoint_url=url, row=_row, give_up_after=give_up_after)

    def with_secret(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        url = f"http://{address[0]}:{address[1]}"
        return self.tables.sink(
            endpoint_url=url,
            row=_row,
            secret_key=SECRET,
            session_token=SECRET,
            give_up_after=give_up_after,
        )

    def seen(self) -> Iterable[tuple[str, Any]]:
        return [(item["word"], int(item["batch"])) for item in self.tables.items()]


def _row(_key: str, value: Any) -> Any:
    return None if value is None else {"batch": value}
