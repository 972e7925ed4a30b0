"""The sink passes the test suite for sinks on Google's emulator."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kstreams import Record
from kstreams.sinks import Sink
from kstreams.testing import SinkContract
from tests.connectors.kstreams_bigtable.tables import Place

pytestmark = pytest.mark.connectors


class TestRows(SinkContract):
    bad = Record("a", 1_000, 5)

    @pytest.fixture(autouse=True)
    def _place(self, place: Place) -> None:
        self.place = place

    def make(self) -> Sink[str, int]:
        return self.place.sink()

    def seen(self) -> Iterable[tuple[str, int]]:
        return self.place.totals().items()
