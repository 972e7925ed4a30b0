"""Fixtures: an app with a server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devtools.showcase import Names, Showcase
from kstreams.clock import SystemClock
from tests.support.servers.query_server import Served
from tests.support.servers.showcase_pages import showcase, showing


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Showcase:
    names = Names(words=(*Names().words, *(f"word{n}" for n in range(60))))
    now = SystemClock().now_ms() + 20_000  # so that the app counts as running during the tests
    found = showcase(tmp_path_factory.mktemp("app"), now, names=names)
    found.fail(found.now_ms - 3_600_000)
    return found


@pytest.fixture(scope="module")
def served(app: Showcase) -> Iterator[Served]:
    with showing(app) as found:
        yield found
