"""The common sink tests on OpenSearch: a value that the mapping refuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import quote

import pytest

from kstreams.sinks import Sink
from kstreams_opensearch import SearchIndex
from tests.connectors.kstreams_opensearch.indexes import Index
from tests.support.sinks.common_sink_tests import SECRET, Address, SinkTraps, address_of

pytestmark = pytest.mark.connectors


class TestIndex(SinkTraps):
    bad: ClassVar[Mapping[str, object]] = {
        "too large for its field": 1 << 40,
        "of another type": "text",
        "of no type": object(),
    }

    @pytest.fixture(autouse=True)
    def _place(self, index: Index) -> None:
        self.index = index

    def address(self) -> Address:
        return address_of(self.index.url)

    def sink(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        url = f"http://{address[0]}:{address[1]}"
        return SearchIndex(url, self.index.name, row=_row, give_up_after=give_up_after)

    def with_secret(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        url = f"http://app:{quote(SECRET, safe='')}@{address[0]}:{address[1]}"
        return SearchIndex(
            url, "i", row=_row, headers={"X-Key": SECRET}, give_up_after=give_up_after
        )

    def seen(self) -> Iterable[tuple[str, Any]]:
        return [(key, found["total"]) for key, found in self.index.documents().items()]


def _row(_key: str, value: Any) -> Any:
    return None if value is None else {"total": value}
