"""Chromium, one for all tests; without it they are skipped, or fail where it is wanted."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from devtools.browser import chromium, chromium_path


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium_path()
    if path is None:
        reason = "there is no Chromium: apt-get install chromium, or KSTREAMS_CHROMIUM=PATH"
        if os.environ.get("KSTREAMS_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with chromium(path) as found:
        yield found
