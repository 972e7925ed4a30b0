"""The sink passes the test suite for sinks."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kstreams import Record
from kstreams.sinks import Sink
from kstreams.testing import SinkContract
from tests.connectors.kstreams_cassandra.tables import Place

pytestmark = pytest.mark.connectors


class TestTable(SinkContract):
    bad = Record("a", 1 << 40, 5)

    @pytest.fixture(autouse=True)
    def _place(self, place: Place) -> None:
        self.place = place
        place.make()

    def make(self) -> Sink[str, int]:
        return self.place.sink()

    def seen(self) -> Iterable[tuple[str, int]]:
        return [(word, total) for word, total in self.place.rows()]
