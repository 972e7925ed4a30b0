"""Fixtures for all tests, and the settings of Hypothesis and Spark."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from devtools.spark_home import QUICK_JAVA

pytest_plugins = ["tests.support.servers.fixtures"]

# A busy machine makes single examples slow, so there is no deadline. The gate draws the same
# examples each time, so that a failure is due to the change; `make explore` draws others.
settings.register_profile("gate", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("gate")


# Spark's launcher applies these options to the JVM of every driver that a test starts.
os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK_JAVA)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest tests first, in each of the two processes that share the tests."""
    long = sorted((item for item in items if "kill" in item.keywords), key=lambda i: i.nodeid)
    rest = [item for item in items if "kill" not in item.keywords]
    half = len(rest) // 2
    items[:] = [*long[::2], *rest[:half], *long[1::2], *rest[half:]]
