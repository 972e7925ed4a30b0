"""The sink passes the test suite for sinks."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kstreams import Record
from kstreams.sinks import Sink
from kstreams.testing import SinkContract
from kstreams_mongodb import Fields
from tests.connectors.kstreams_mongodb.collections import Place

pytestmark = pytest.mark.connectors


class TestCollection(SinkContract):
    bad = Record("a", 1_000, 5)

    @pytest.fixture(autouse=True)
    def _place(self, place: Place) -> None:
        self.place = place

    def make(self) -> Sink[str, int]:
        return self.place.sink(row=_row)

    def seen(self) -> Iterable[tuple[str, int]]:
        return [(key, found["total"]) for key, found in self.place.documents().items()]


def _row(_word: str, total: int) -> Fields:
    return {"total": total if total < 1_000 else 1 << 80}
