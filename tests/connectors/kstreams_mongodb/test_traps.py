"""The common sink tests on MongoDB."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import quote

import pytest

from kstreams.sinks import Sink
from kstreams_mongodb import MongoCollection
from tests.connectors.kstreams_mongodb.collections import Place
from tests.support.sinks.common_sink_tests import SECRET, Address, SinkTraps, address_of

pytestmark = pytest.mark.connectors

_SELECT = "serverSelectionTimeoutMS=500"


class TestCollection(SinkTraps):
    bad: ClassVar[Mapping[str, object]] = {
        "more than 64 bits": 1 << 80,
        "of another type": {1, 2},
        "more than 16 MB": "x" * (17 << 20),
    }
    connections = 3

    @pytest.fixture(autouse=True)
    def _place(self, place: Place) -> None:
        self.place = place

    def address(self) -> Address:
        return address_of(self.place.url)

    def sink(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        url = f"mongodb://{address[0]}:{address[1]}/?{_SELECT}"
        name = self.place.totals.full_name
        return MongoCollection(url, name, row=_row, give_up_after=give_up_after)

    def with_secret(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        url = f"mongodb://app:{quote(SECRET, safe='')}@{address[0]}:{address[1]}/?{_SELECT}"
        return MongoCollection(url, "d.c", row=_row, give_up_after=give_up_after)

    def seen(self) -> Iterable[tuple[str, Any]]:
        return [(key, found["total"]) for key, found in self.place.documents().items()]


def _row(_key: str, value: Any) -> Any:
    return None if value is None else {"total": value}
