"""Fixtures: one Chromium for all tests, skipped or failed without it; an app with a server."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from devtools.browser import chromium, chromium_path
from devtools.showcase import Names, Showcase
from kstreams.clock import SystemClock
from tests.support.servers.query_server import Served
from tests.support.servers.showcase_pages import showcase, showing

_PATIENCE_MS = 30_000
"""Timeout for expected changes of a page; the speed of pages is not tested here."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium_path()
    if path is None:
        reason = "there is no Chromium: apt-get install chromium, or KSTREAMS_CHROMIUM=PATH"
        if os.environ.get("KSTREAMS_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    expect.set_options(timeout=_PATIENCE_MS)
    with chromium(path) as found:
        yield found


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
