"""Fixtures that run tests with compiled loops and with the Python client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kstreams_kafka import sink
from kstreams_kafka.native.library import SWITCH, library


@pytest.fixture(params=["compiled", "client"])
def each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run a test twice, with compiled loops and with the Python client of librdkafka.

    Use it by `pytestmark = pytest.mark.usefixtures("each_way")`.
    """
    if request.param == "compiled" and library(None) is None:
        pytest.skip("kstreams-kafka-native is not installed: make setup found no C compiler")
    monkeypatch.setenv(SWITCH, str(int(request.param == "compiled")))
    monkeypatch.setattr(sink, "_sinks", {})
    library.cache_clear()
    yield
    library.cache_clear()
