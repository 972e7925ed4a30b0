"""The common sink tests on Google's emulator of Bigtable, which accepts no credentials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from kstreams.sinks import Sink
from tests.connectors.kstreams_bigtable.tables import Place
from tests.support.sinks.common_sink_tests import Address, SinkTraps

pytestmark = pytest.mark.connectors


class TestRows(SinkTraps):
    bad: ClassVar[Mapping[str, object]] = {
        "more than 64 bits": 1 << 80,
        "of another type": 0.5,
        "a bool": True,
    }

    @pytest.fixture(autouse=True)
    def _place(self, place: Place) -> None:
        self.place = place

    def address(self) -> Address:
        host, _, port = self.place.endpoint.partition(":")
        return host, int(port)

    def sink(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        endpoint = f"{address[0]}:{address[1]}"
        return self.place.sink(_row, endpoint=endpoint, give_up_after=give_up_after)

    def with_secret(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        endpoint = f"{address[0]}:{address[1]}"
        return self.place.sink(_row, endpoint=endpoint, profile="p", give_up_after=give_up_after)

    def seen(self) -> Iterable[tuple[str, Any]]:
        return self.place.totals().items()


def _row(_key: str, value: Any) -> Any:
    return None if value is None else {"sums:total": value}
